//! Help starts with examples, and the examples work.

use std::process::Command;

use tenure_e2e::cli::{CliServer, Folder, exit_code, start, wait_for_output};
use tenure_e2e::{Signal, tenure};

use crate::start_server;

/// Without a server.
const ALONE: &[&str] = &[
    "lifecycle",
    "lifecycle check",
    "lifecycle show",
    "lifecycle list",
    "lifecycle diff",
    "verify",
    "config",
    "completions",
    "man",
];

/// With a server, and the state in which the job of the examples is.
const ASKING: &[(&str, Job)] = &[
    ("", Job::None),
    ("run", Job::None),
    ("explain", Job::Queued),
    ("events", Job::None),
    ("job", Job::Queued),
    ("job create", Job::None),
    ("job list", Job::None),
    ("job get", Job::Queued),
    ("job events", Job::Queued),
    ("job replay", Job::Queued),
    ("job logs", Job::Succeeded),
    ("job assets", Job::Succeeded),
    ("job cancel", Job::Queued),
    ("job retry", Job::Succeeded),
    ("job wait", Job::Succeeded),
    ("job dead-letter", Job::Queued),
    ("job signal", Job::Gated),
    ("dead", Job::Dead),
    ("dead list", Job::None),
    ("dead get", Job::Dead),
    ("dead redrive", Job::Dead),
    ("dead dismiss", Job::Dead),
    ("queue", Job::None),
    ("queue list", Job::None),
    ("queue pause", Job::None),
    ("queue resume", Job::None),
    ("worker", Job::None),
    ("worker list", Job::None),
    ("account", Job::None),
    ("account get", Job::None),
    ("account grant", Job::None),
    ("schedule", Job::None),
    ("schedule list", Job::None),
    ("schedule create", Job::None),
    ("schedule pause", Job::None),
    ("schedule resume", Job::None),
    ("schedule delete", Job::None),
    ("webhook", Job::None),
    ("webhook list", Job::None),
    ("webhook create", Job::None),
    ("webhook enable", Job::None),
    ("webhook delete", Job::None),
];

/// With an admin's key.
const KEYS: &[&str] = &["key", "key create", "key list", "key revoke"];

/// These go on until they are told to stop, or take long; each is tried by tests of its own.
const ENDLESS: &[&str] = &["work", "serve", "dev", "bench", "top"];

#[derive(Clone, Copy)]
enum Job {
    None,
    Queued,
    Succeeded,
    Gated,
    Dead,
}

/// The id and the key that the examples name.
const JOB: &str = "01990c3a-7d2e";
const KEY: &str = "7k2m9qfd0xyz";

fn commands() -> impl Iterator<Item = &'static str> {
    let asking = ASKING.iter().map(|(command, _)| command);
    ALONE.iter().chain(asking).chain(KEYS).chain(ENDLESS).copied()
}

fn examples(command: &str) -> Vec<String> {
    let output = Command::new(tenure()).args(command.split_whitespace()).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let lines = help.lines().skip(1).take_while(|line| !line.is_empty());
    let examples: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    assert!(!examples.is_empty(), "{command}");
    examples
}

/// A shell in which `tenure` is this one.
fn shell(example: &str) -> Command {
    let binary = tenure().parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", example]).env("PATH", path);
    shell
}

fn works(example: &str, shell: &mut Command) {
    let output = shell.output().unwrap();
    assert_eq!(exit_code(&output), 0, "{example}: {}", String::from_utf8_lossy(&output.stderr));
}

fn asks(server: &CliServer, example: &str) {
    let mut shell = server.connect(shell(example));
    if example.contains("events -f") {
        let following = start(shell);
        wait_for_output(&following, "following after");
        return;
    }
    works(example, &mut shell);
}

#[test]
fn every_help_starts_with_examples() {
    let folder = Folder::new();
    for command in commands() {
        for flag in ["--help", "-h"] {
            let output = folder.run(&format!("{command} {flag}"));
            assert_eq!(exit_code(&output), 0);
            let text = String::from_utf8(output.stdout).unwrap();
            let begins = text.starts_with("Examples:\n  tenure ") || text.starts_with("Examples:\n  echo ");
            assert!(begins, "{command} {flag}:\n{text}");
        }
    }
}

#[test]
fn every_command_has_a_test() {
    let folder = Folder::new();
    let mut to_visit = vec![String::new()];
    while let Some(command) = to_visit.pop() {
        assert!(commands().any(|known| known == command), "{command:?} is not in the lists above");
        let help = String::from_utf8(folder.run(&format!("{command} --help")).stdout).unwrap();
        let listed =
            help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let names = listed.filter_map(|line| {
            line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.split_whitespace().next()
        });
        to_visit.extend(
            names.filter(|name| *name != "help").map(|name| format!("{command} {name}").trim().to_owned()),
        );
    }
}

#[tokio::test]
async fn every_example_works_without_a_server() {
    let folder = Folder::new();
    folder.write("tenure.toml", "[types.hello]\nlifecycle = \"so1\"\n");
    drop(tenure_store::AnyStore::open(&folder.path().join("tenure-data")).await.unwrap());
    for example in ALONE.iter().flat_map(|command| examples(command)) {
        works(&example, shell(&example).current_dir(folder.path()));
    }
}

#[test]
fn every_example_works_with_a_server() {
    let server = start_server();
    std::fs::write(server.path().join("payload.json"), "{}").unwrap();
    let _worker = server.work(&["hello", "resize", "import", "--", "true"]);
    for (command, job) in ASKING {
        for example in examples(command) {
            let id = match job {
                Job::None => String::new(),
                Job::Queued => server.create(&["idle"]),
                Job::Succeeded => server.run_ok(&["run", "hello", "-o", "name"]).trim().to_owned(),
                Job::Gated => server.create(&["gated"]),
                Job::Dead => {
                    let id = server.create(&["idle"]);
                    server.run_ok(&["job", "dead-letter", &id, "--reason-code", "policy_violation"]);
                    id
                }
            };
            asks(&server, &example.replace(JOB, &id));
        }
        // What an example paused would hold up the next.
        server.run_ok(&["queue", "resume", "pictures"]);
    }
}

#[test]
fn every_example_works_with_a_key() {
    let mut server = start_server();
    server.key = Some(server.run_ok(&["key", "create", "--role", "admin"]).trim().to_owned());
    for example in KEYS.iter().flat_map(|command| examples(command)) {
        let id = server.json(&["key", "create", "--role", "viewer"])["id"].as_str().unwrap().to_owned();
        asks(&server, &example.replace(KEY, &id));
    }
}

#[test]
fn every_example_worker_works() {
    let server = start_server();
    for name in ["hello.sh", "pictures.py"] {
        std::fs::write(server.path().join(name), "").unwrap();
    }
    for example in examples("work") {
        let mut shell = shell(&format!("exec {example}"));
        shell.current_dir(server.path()).env("TENURE_URL", &server.url());
        let mut worker = start(shell);
        wait_for_output(&worker, "working on");
        worker.signal(Signal::TERM).unwrap();
        assert_eq!(worker.wait().unwrap().code(), Some(0), "{example}: {}", worker.output());
    }
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    let folder = Folder::new();
    for words in [
        "",
        "lifecycle",
        "lifecycle chek",
        "lifecycle check",
        "lifecycle show",
        "lifecycle list -o xml",
        "lifecycle diff engine",
    ] {
        let output = folder.run(words);
        assert_eq!(exit_code(&output), 2, "{words}");
        assert!(output.stdout.is_empty(), "words go to stderr: {words}");
    }
}
