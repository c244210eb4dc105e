//! Help starts with examples, and the examples work.

use std::process::Command;

use tenure_e2e::cli::{CliServer, Folder, expect_exit, start, wait_for_output};
use tenure_e2e::{Signal, tenure};

use crate::start_server;

/// Commands that need no server. `mcp` ends with its input, which is empty here.
const LOCAL: &str = "lifecycle, lifecycle check, lifecycle show, lifecycle list, lifecycle diff, verify, backup, \
     restore, config, config check, doctor, completions, man, mcp, intake, intake install, \
     test-server";

/// Commands that need a server, by the state of the job in their examples.
const REMOTE: &[(JobState, &str)] = &[
    (
        JobState::None,
        ", lifecycle what-if, run, events, job create, job list, dead list, queue, queue list, queue pause, queue resume, resource, \
         resource list, resource get, resource set, resource reset, resource pause, resource resume, worker, \
         worker list, account, account get, account grant, account erase, schedule, schedule list, schedule create, \
         schedule replace, schedule run, schedule pause, schedule resume, schedule delete, webhook, webhook list, \
         webhook create, webhook disable, webhook replay, webhook enable, webhook delete",
    ),
    (
        JobState::Queued,
        "explain, job, job get, job events, job replay, job edit, job cancel, job dead-letter",
    ),
    (JobState::Succeeded, "job logs, job assets, job retry, job wait, job delete"),
    (JobState::Gated, "job signal"),
    (JobState::Dead, "dead, dead get, dead redrive, dead dismiss"),
];

/// Commands that need an admin key.
const KEYS: &str = "key, key create, key list, key rotate, key revoke";

/// Commands that run until they are stopped, or take long; they have their own tests.
const ENDLESS: &str = "work, serve, dev, bench, top";

#[derive(Clone, Copy)]
enum JobState {
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
    let remote = REMOTE.iter().map(|(_, commands)| *commands);
    [LOCAL, KEYS, ENDLESS].into_iter().chain(remote).flat_map(|commands| commands.split(", "))
}

fn examples(command: &str) -> Vec<String> {
    let output = Command::new(tenure()).args(command.split_whitespace()).arg("--help").output().unwrap();
    let (help, _) = expect_exit(output, 0, command);
    let lines = help.lines().skip(1).take_while(|line| !line.is_empty());
    let examples: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    assert!(!examples.is_empty(), "{command}");
    examples
}

/// A shell in which `tenure` is the binary under test.
fn shell(example: &str) -> Command {
    let binary = tenure().parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", example]).env("PATH", path);
    shell
}

fn run_example(example: &str, shell: &mut Command) {
    expect_exit(shell.output().unwrap(), 0, example);
}

fn run_remote_example(server: &CliServer, example: &str) {
    let mut shell = server.connect(shell(example));
    if example.contains("events -f") {
        wait_for_output(&start(shell), "following the journal after");
    } else {
        run_example(example, &mut shell);
    }
}

#[test]
fn every_help_starts_with_examples() {
    let folder = Folder::new();
    for command in commands() {
        for flag in ["--help", "-h"] {
            let (text, _) = folder.outputs(0, &format!("{command} {flag}"));
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
        let (help, _) = folder.outputs(0, &format!("{command} --help"));
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let rows = listed.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
        let names = rows.filter(|row| !row.starts_with(' ')).filter_map(|row| row.split_whitespace().next());
        let names = names.filter(|name| *name != "help");
        to_visit.extend(names.map(|name| format!("{command} {name}").trim().to_owned()));
    }
}

#[tokio::test]
async fn every_example_works_without_a_server() {
    let folder = Folder::new();
    folder.write("tenure.toml", "[types.hello]\nlifecycle = \"so1\"\n");
    folder.write("viewer.key", "tn_key");
    drop(tenure_store::Store::open(&folder.path().join("tenure-data")).await.unwrap());
    for example in LOCAL.split(", ").flat_map(examples) {
        run_example(&example, shell(&example).current_dir(folder.path()));
    }
}

#[test]
fn every_example_works_with_a_server() {
    let server = start_server();
    std::fs::write(server.path().join("payload.json"), "{}").unwrap();
    server.copy_lifecycle("engine.toml");
    let _worker = server.work(&["hello", "resize", "import", "--", "true"]);
    for (job, command) in REMOTE.iter().flat_map(|(job, list)| list.split(", ").map(move |name| (job, name)))
    {
        for example in examples(command) {
            let id = match job {
                JobState::None => String::new(),
                JobState::Queued => server.create(&["idle"]),
                JobState::Succeeded => server.run_ok(&["run", "hello", "-o", "name"]).trim().to_owned(),
                JobState::Gated => server.create(&["gated"]),
                JobState::Dead => {
                    let id = server.create(&["idle"]);
                    server.run_ok(&["job", "dead-letter", &id, "--reason-code", "policy_violation"]);
                    id
                }
            };
            run_remote_example(&server, &example.replace(JOB, &id));
        }
        // A queue that an example paused would block the next example.
        server.run_ok(&["queue", "resume", "pictures"]);
    }
}

#[test]
fn every_example_works_with_a_key() {
    let mut server = start_server();
    server.key = Some(server.create_key(&["--role", "admin"]));
    for example in KEYS.split(", ").flat_map(examples) {
        let id = server.json(&["key", "create", "--role", "viewer"])["id"].as_str().unwrap().to_owned();
        run_remote_example(&server, &example.replace(KEY, &id));
    }
}

#[test]
fn every_example_worker_works() {
    let server = start_server();
    for name in ["hello.sh", "pictures.py"] {
        std::fs::write(server.path().join(name), "").unwrap();
    }
    for example in examples("work") {
        let mut worker = start(server.connect(shell(&format!("exec {example}"))));
        wait_for_output(&worker, "working on");
        worker.signal(Signal::TERM).unwrap();
        assert_eq!(worker.wait().unwrap().code(), Some(0), "{example}: {}", worker.output());
    }
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    let folder = Folder::new();
    folder.outputs(2, "");
    for arguments in ["", "chek", "check", "show", "list -o xml", "diff engine"] {
        let (stdout, _) = folder.outputs(2, &format!("lifecycle {arguments}"));
        assert_eq!(stdout, "", "usage errors go to stderr: {arguments}");
    }
}
