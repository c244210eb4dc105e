//! Exit codes and error messages.

use serde_json::json;
use tenure_e2e::assert_fields;
use tenure_e2e::cli::{Folder, expect_exit};

use crate::start_server;

#[test]
fn an_unreachable_server() {
    let folder = Folder::new();
    for args in [&["job", "list"][..], &["run", "hello"], &["queue", "pause", "q"], &["job", "wait", "0199"]]
    {
        let output = folder.command().args(["--server", "http://127.0.0.1:1"]).args(args).output().unwrap();
        let (stdout, stderr) = expect_exit(output, 9, args);
        assert_eq!(stdout, "");
        assert!(stderr.contains("help: start a server with `tenure serve`"), "{stderr}");
    }
    folder.outputs(2, "job list --server nowhere");
}

#[test]
fn missing_keys_and_insufficient_rights() {
    let mut server = start_server();
    let admin = server.create_key(&["--role", "admin"]);
    assert!(admin.starts_with("tn_"), "{admin}");
    let (_, stderr) = server.outputs(4, &["job", "list"]);
    assert!(stderr.contains("help: pass a key with --key-file, --key or TENURE_KEY"), "{stderr}");
    server.run_ok(&["job", "list", "--key", &admin]);

    server.key = Some(admin);
    let producer = server.create_key(&["--role", "producer", "--user", "ada"]);
    let id = server.create(&["hello"]);
    server.key = Some(producer);
    server.run_expecting(4, &["queue", "list"]);
    server.run_expecting(4, &["job", "get", &id]);
    assert_eq!(server.run_ok(&["job", "list", "-o", "name"]), "", "jobs of others are left out");
    let own = server.create(&["hello"]);
    assert_eq!(server.job(&own)["user_id"], "ada");
    let help = server.run_ok(&["job", "--help"]);
    assert!(!help.contains("tn_"), "the key is not in the help: {help}");
}

#[test]
fn refusals() {
    let server = start_server();
    let id = server.create(&["hello"]);
    let (_, unfinished) = server.outputs(6, &["job", "retry", &id]);
    assert!(unfinished.starts_with("tenure: invalid_transition: "), "{unfinished}");
    let new = ["job", "create", "paid", "--user", "poor", "-p", r#"{"prompt": "x"}"#];
    let (_, no_credits) = server.outputs(6, &new);
    assert!(no_credits.contains("tenure account grant"), "{no_credits}");
    let (_, stale) = server.outputs(6, &["job", "edit", &id, "--priority", "1", "--if-match", "9"]);
    assert!(stale.starts_with("tenure: precondition_failed: "), "{stale}");
}

#[test]
fn failed_validation() {
    let server = start_server();
    let (_, stderr) = server.outputs(7, &["job", "create", "typed", "-p", r#"{"n": "one"}"#]);
    assert!(stderr.contains("/n"), "the position of the error is shown: {stderr}");
    server.run_expecting(7, &["job", "create", "hello", "--priority", "1000000000"]);
    server.run_expecting(7, &["job", "list", "--phase", "sideways"]);
    std::fs::write(server.path().join("bad.toml"), "lisen = 1\n").unwrap();
    for command in ["config", "serve", "test-server"] {
        server.run_expecting(5, &[command, "--config", "nowhere.toml"]);
        server.run_expecting(7, &[command, "--config", "bad.toml"]);
    }
}

#[test]
fn usage_errors() {
    let folder = Folder::new();
    let incomplete = "job, job get, run, work hello, work -- true, key create, dead redrive, \
                      job wait x --timeout soon";
    for words in incomplete.split(", ") {
        assert_eq!(folder.outputs(2, words).0, "", "{words}");
    }
}

#[test]
fn a_missing_program() {
    let server = start_server();
    server.run_expecting(5, &["work", "hello", "--", "./no-such-program"]);
    server.run_expecting(5, &["work", "hello", "--", "no-such-program-anywhere"]);
}

#[test]
fn the_configuration_shows_its_sources() {
    let server = start_server();
    let output = server.command().arg("config").env("TENURE_LIMITS_PAYLOAD", "64 KiB").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("listen").contains("127.0.0.1:7117") && line("listen").ends_with("default"), "{text}");
    assert!(line("lifecycles").ends_with("tenure.toml:1"), "{text}");
    let limit = line("limits.payload");
    assert!(limit.contains("64 KiB") && limit.ends_with("TENURE_LIMITS_PAYLOAD"), "{text}");
    assert_fields(&server.json(&["config"]), json!({ "file": "tenure.toml", "/settings/0/name": "listen" }));
}

#[test]
fn completions_and_manual_pages() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.outputs(0, &format!("completions {shell}")).0.contains("dead-letter"), "{shell}");
    }
    let (page, _) = folder.outputs(0, "man");
    assert!(page.contains(".TH tenure 1"), "{page}");
    folder.outputs(0, "man --dir pages");
    let pages = std::fs::read_dir(folder.path().join("pages")).unwrap().count();
    assert!(pages > 30, "a page for each command: {pages}");
    assert!(folder.path().join("pages/tenure-job-cancel.1").is_file());
}

#[test]
fn a_draining_server_says_so() {
    let mut server = start_server();
    server.create(&["hello"]);
    assert_eq!(server.stop(), Some(0));
}
