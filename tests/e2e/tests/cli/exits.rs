//! Exit codes and error messages.

use serde_json::{Value, json};
use tenure_e2e::assert_fields;
use tenure_e2e::cli::{Folder, exit_code, transcript};

use crate::start_server;

fn words(output: &std::process::Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn an_unreachable_server() {
    let folder = Folder::new();
    for args in [&["job", "list"][..], &["run", "hello"], &["queue", "pause", "q"], &["job", "wait", "0199"]]
    {
        let output = folder.command().args(["--server", "http://127.0.0.1:1"]).args(args).output().unwrap();
        assert_eq!(exit_code(&output), 9, "{}", transcript(&output));
        assert!(output.stdout.is_empty());
        assert!(words(&output).contains("help: start a server with `tenure serve`"), "{}", words(&output));
    }
    let output = folder.run("job list --server nowhere");
    assert_eq!(exit_code(&output), 2, "{}", transcript(&output));
}

#[test]
fn missing_keys_and_insufficient_rights() {
    let mut server = start_server();
    let admin = server.run_ok(&["key", "create", "--role", "admin"]).trim().to_owned();
    assert!(admin.starts_with("tn_"), "{admin}");
    let output = server.run(&["job", "list"]);
    assert_eq!(exit_code(&output), 4, "{}", transcript(&output));
    assert!(words(&output).contains("help: pass a key with --key or TENURE_KEY"), "{}", words(&output));
    assert_eq!(exit_code(&server.run(&["job", "list", "--key", &admin])), 0);

    server.key = Some(admin);
    let output = server.run(&["key", "create", "--role", "producer", "--user", "ada"]);
    let producer = String::from_utf8(output.stdout).unwrap().trim().to_owned();
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
    let output = server.run(&["job", "retry", &id]);
    assert_eq!(exit_code(&output), 6, "an unfinished job: {}", transcript(&output));
    assert!(words(&output).starts_with("tenure: invalid_transition: "), "{}", words(&output));
    let output = server.run(&["job", "create", "paid", "--user", "poor", "-p", r#"{"prompt": "x"}"#]);
    assert_eq!(exit_code(&output), 6, "no credits: {}", transcript(&output));
    assert!(words(&output).contains("tenure account grant"), "{}", words(&output));
}

#[test]
fn failed_validation() {
    let server = start_server();
    let output = server.run(&["job", "create", "typed", "-p", r#"{"n": "one"}"#]);
    assert_eq!(exit_code(&output), 7, "{}", transcript(&output));
    assert!(words(&output).contains("/n"), "the position of the error is shown: {}", words(&output));
    server.run_expecting(7, &["job", "create", "hello", "--priority", "1000000000"]);
    server.run_expecting(7, &["job", "list", "--phase", "sideways"]);
    std::fs::write(server.path().join("bad.toml"), "lisen = 1\n").unwrap();
    let output = server.run(&["config", "--config", "bad.toml"]);
    assert_eq!(exit_code(&output), 7, "{}", transcript(&output));
    server.run_expecting(5, &["config", "--config", "nowhere.toml"]);
}

#[test]
fn usage_errors() {
    let folder = Folder::new();
    for words in [
        "job",
        "job get",
        "run",
        "work hello",
        "work -- true",
        "key create",
        "dead redrive",
        "job wait x --timeout soon",
    ] {
        let output = folder.run(words);
        assert_eq!(exit_code(&output), 2, "{words}: {}", transcript(&output));
        assert!(output.stdout.is_empty(), "{words}");
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
    assert!(
        line("limits.payload").contains("64 KiB")
            && line("limits.payload").ends_with("TENURE_LIMITS_PAYLOAD"),
        "{text}"
    );
    let answer: Value = serde_json::from_str(&server.run_ok(&["config", "-o", "json"])).unwrap();
    assert_fields(&answer, json!({ "file": "tenure.toml", "/settings/0/name": "listen" }));
}

#[test]
fn completions_and_manual_pages() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = folder.run(&format!("completions {shell}"));
        assert_eq!(exit_code(&output), 0);
        assert!(String::from_utf8(output.stdout).unwrap().contains("dead-letter"), "{shell}");
    }
    let page = String::from_utf8(folder.run("man").stdout).unwrap();
    assert!(page.contains(".TH tenure 1"), "{page}");
    assert_eq!(exit_code(&folder.run("man --dir pages")), 0);
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
