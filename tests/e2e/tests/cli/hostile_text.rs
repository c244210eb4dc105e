//! Text of callers and workers cannot control the terminal of a command.

use serde_json::{Value, json};
use tenure_core::text::is_unsafe;
use tenure_e2e::cli::CliServer;

use crate::start_server;

/// C1 characters that begin a control sequence or end a line, a right-to-left override, and an isolate.
const HOSTILE: &str = "a\u{9b}31mb\u{85}c\u{202e}d\u{2066}e\u{200b}f";
/// A name has no control characters.
const HOSTILE_NAME: &str = "a\u{202e}d\u{2066}e";

fn assert_safe(text: &str, arguments: &[&str]) {
    let found = text.chars().find(|character| *character != '\n' && is_unsafe(*character));
    assert_eq!(found, None, "{arguments:?}: {text:?}");
}

/// Runs a command in every output format, with any exit code.
fn check(server: &CliServer, arguments: &[&str]) {
    for format in ["table", "wide", "json", "jsonl", "name"] {
        let arguments = [arguments, &["-o", format]].concat();
        let output = server.run(&arguments);
        for bytes in [&output.stdout, &output.stderr] {
            assert_safe(&String::from_utf8(bytes.clone()).unwrap(), &arguments);
        }
    }
}

#[test]
fn no_command_prints_characters_that_control_a_terminal() {
    let server = start_server();
    let payload = json!({ HOSTILE: HOSTILE }).to_string();
    let script = format!(
        "printf '%s\\n' '{HOSTILE}'; printf '%s\\n' '{HOSTILE}' >&2; printf 'progress 50 %s\\n' '{HOSTILE}' >&3; \
         printf 'result \"%s\"\\n' '{HOSTILE}' >&3; exit 9"
    );
    let names = ["--user", HOSTILE_NAME, "--queue", HOSTILE_NAME, "--correlation-id", HOSTILE_NAME];
    let worker = ["hello", "--name", HOSTILE_NAME, "--queue", HOSTILE_NAME, "--", "sh", "-c", &script];
    let _worker = server.work(&worker);
    check(&server, &[&["run", "hello", "-p", &payload], &names[..]].concat());
    let id = server.create(&[&["hello", "-p", &payload], &names[..]].concat());
    server.run_expecting(3, &["job", "wait", &id]);
    for arguments in [
        &["job", "list"][..],
        &["job", "get", &id],
        &["job", "events", &id],
        &["job", "logs", &id],
        &["job", "logs", "-f", &id],
        &["explain", &id],
        &["events"],
        &["dead", "list"],
        &["queue", "list"],
        &["worker", "list"],
        &["account", "get", HOSTILE_NAME],
        &["job", "get", HOSTILE],
        &["job", "signal", &id, HOSTILE_NAME],
    ] {
        check(&server, arguments);
    }
    let job: Value = server.job(&id);
    assert_eq!(job["payload"], json!({ HOSTILE: HOSTILE }), "parsing restores the text");
    let logged = server.json(&["job", "logs", &id]);
    assert_eq!(logged["lines"][0]["text"], HOSTILE);
    let shown = server.run_ok(&["job", "logs", &id]);
    assert!(shown.contains(r"a\u{9b}31mb\u{85}c\u{202e}d\u{2066}e\u{200b}f"), "{shown}");
}
