//! Commands of programs: where they come from, which files can become assets, and what a program inherits.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tenure_e2e::cli::{CliServer, poll, start, wait_for_output};
use tenure_e2e::{assert_fields, rows};

use super::{id, lines, pid_in, run_script, wait_for_end};
use crate::start_server;

/// Prints each of these commands to stdout and stderr, as a program does that prints its payload.
const PRINT_COMMANDS: &str = r#"
    printf '%s\n' '::progress 99 forged' '::result "forged"' '::asset text /etc/passwd' 'result "forged"'
    printf '%s\n' '::progress 99 forged' '::result "forged"' '::asset text /etc/passwd' 'result "forged"' >&2"#;

fn assets(server: &CliServer, job: &Value) -> Vec<Value> {
    rows(&server.json(&["job", "assets", id(job)])["assets"]).to_vec()
}

/// Runs a job in the job's folder; `exit` is that of `tenure job wait`.
fn run_in_job_folder(server: &CliServer, exit: i32, script: &str) -> Value {
    let _worker = server.work(&["make", "--", "sh", "-c", script]);
    server.wait(exit, &server.create(&["make"]))
}

#[test]
fn text_that_a_program_prints_is_never_a_command() {
    let server = start_server();
    let (_worker, job) = run_script(&server, 0, "hello", PRINT_COMMANDS);
    assert_fields(&job, json!({ "result": null, "progress_message": null }));
    assert!(assets(&server, &job).is_empty());
    assert_eq!(lines(&server, id(&job)).len(), 8, "all of it is in the log");
}

#[test]
fn stdout_has_commands_only_if_that_is_enabled_and_stderr_never() {
    let server = start_server();
    let script = r#"
        echo '::progress lots'; echo '::result 1'; echo '::result 2' >&2; echo '::asset text /etc/passwd' >&2
        printf content > out.txt; echo '::asset text out.txt'"#;
    let _worker = server.work(&["hello", "--commands-in-output", "--", "sh", "-c", script]);
    let job = server.wait(0, &server.create(&["hello"]));
    assert_eq!(job["result"], 1);
    assert_eq!(assets(&server, &job).len(), 1);
    let mut lines = lines(&server, id(&job));
    lines.sort();
    assert_eq!(lines, ["::asset text /etc/passwd", "::progress lots", "::result 2"]);
}

#[test]
fn a_file_of_the_jobs_folder_becomes_an_asset() {
    let server = start_server();
    let script = r#"
        printf 'made by hand' > 'made here.txt'; echo 'asset text made here.txt' >&3; echo after
        mkdir out; printf other > out/b; echo "asset text $TENURE_JOB_DIR/out/b" >&3"#;
    let job = run_in_job_folder(&server, 0, script);
    assert_eq!(lines(&server, id(&job)), ["after"]);
    let assets = assets(&server, &job);
    assert_eq!(assets.len(), 2);
    let asset = assets.iter().find(|asset| asset["file_size"] == 12).unwrap();
    assert_eq!(asset["asset_type"], "text");
    assert!(asset["storage_path"].as_str().is_some_and(|path| path.ends_with("/made here.txt")), "{asset}");
}

#[test]
fn no_other_file_becomes_an_asset() {
    let server = start_server();
    std::fs::write(server.path().join("secret"), "secret").unwrap();
    let secret = server.path().join("secret").display().to_string();
    let script = format!(
        r#"
        read -r file; eval file="$file"
        ln -s '{secret}' link; ln -s '{}' folder; ln '{secret}' hard || touch hard; mkfifo fifo
        echo "asset text $file" >&3"#,
        server.path().display()
    );
    let _worker = server.work(&["make", "--", "sh", "-c", &script]);
    let up = format!("{}{secret}", "../".repeat(20));
    for (file, expected) in [
        (secret.as_str(), "not inside the job's folder"),
        (&up, "not inside the job's folder"),
        ("link", "symbolic link"),
        ("folder/secret", "symbolic link"),
        ("/dev/zero", "not inside the job's folder"),
        ("fifo", "not a regular file"),
        ("missing", "No such file"),
    ] {
        let job = server.wait(3, &server.create(&["make", "-p", &json!(file).to_string()]));
        assert_fields(&job["error"], json!({ "code": "BAD_ASSET", "stage": "output" }));
        let message = job["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{file}: {message}");
        assert!(assets(&server, &job).is_empty(), "{file}");
        assert_eq!(lines(&server, id(&job)), [message], "the log says so, too");
    }
}

#[test]
fn the_jobs_folder_is_the_working_directory_is_private_and_is_removed() {
    let server = start_server();
    let script = r#"pwd; echo "$TENURE_JOB_DIR"; stat -c %a .; mkdir -p a/b; touch a/b/c; ls"#;
    let job = run_in_job_folder(&server, 0, script);
    let lines = lines(&server, id(&job));
    assert_eq!(lines[0], lines[1]);
    assert_eq!(lines[2..], ["700", "a"], "it is empty at first");
    assert!(!Path::new(&lines[0]).exists());

    let script = r#"echo "$TENURE_JOB_DIR"; touch file; echo progress 50 >&3; exec sleep 600"#;
    let _worker = server.work(&["killed", "--", "sh", "-c", script]);
    let id = server.create(&["killed"]);
    server.job_when(&id, "the program runs", |job| job["progress"] == 50);
    let folder = poll("its folder is logged", || super::lines(&server, &id).first().cloned());
    server.run_ok(&["job", "cancel", "--hard", &id]);
    poll("the folder of a killed program is removed", || (!Path::new(&folder).exists()).then_some(()));
}

#[test]
fn another_working_directory_can_be_chosen() {
    let server = start_server();
    std::fs::write(
        server.path().join("program.sh"),
        "pwd; printf x > $TENURE_JOB_DIR/x; echo asset text $TENURE_JOB_DIR/x >&3",
    )
    .unwrap();
    let _worker = server.work(&["make", "--cwd", ".", "--", "sh", "program.sh"]);
    let job = server.wait(0, &server.create(&["make"]));
    let own = server.path().canonicalize().unwrap().display().to_string();
    assert_eq!(lines(&server, id(&job)), [own]);
    assert_eq!(assets(&server, &job).len(), 1);
    let (_, stderr) = server.outputs(5, &["work", "make", "--cwd", "missing", "--", "true"]);
    assert!(stderr.contains("there is no folder missing"), "{stderr}");
}

#[test]
fn a_program_is_found_relative_to_the_folder_of_the_command() {
    let server = start_server();
    let script = server.path().join("program.sh");
    std::fs::write(&script, "#!/bin/sh\necho result 1 >&3\n").unwrap();
    Command::new("chmod").args(["+x", script.to_str().unwrap()]).status().unwrap();
    let _worker = server.work(&["make", "--", "./program.sh"]);
    assert_eq!(server.wait(0, &server.create(&["make"]))["result"], 1);
}

#[test]
fn a_process_that_keeps_the_descriptor_open_does_not_keep_the_job_open() {
    let server = start_server();
    let script = r#"
        setsid sh -c 'echo $$ > inner; exec sleep 600' < /dev/null > /dev/null 2>&1 &
        while ! test -s inner; do sleep 0.05; done; echo result 1 >&3"#;
    let (_worker, job) = run_script(&server, 0, "hello", script);
    assert_eq!(job["result"], 1);
    // It has left the process group of the program.
    let pid = pid_in(&server, "inner");
    Command::new("kill").arg(pid.to_string()).status().unwrap();
    wait_for_end(pid);
}

#[test]
fn a_command_that_is_too_long_is_refused() {
    let server = start_server();
    let script = r#"(printf 'result "'; head -c 5000000 /dev/zero | tr '\0' x; echo '"') >&3"#;
    let (_worker, job) = run_script(&server, 3, "long", script);
    assert_eq!(job["error"]["code"], "BAD_RESULT");
    let script = r#"
        (printf 'asset text '; head -c 100000 /dev/zero | tr '\0' x; echo; echo unknown; echo result 1) >&3"#;
    let (_other, job) = run_script(&server, 0, "other", script);
    assert_eq!(job["result"], 1);
    let lines = lines(&server, id(&job));
    assert!(lines[0].starts_with("not a command: asset text xxx") && lines[0].len() < 300, "{lines:?}");
    assert_eq!(lines[1..], ["not a command: unknown"]);
}

#[test]
fn a_program_does_not_inherit_secrets_of_its_worker() {
    let mut server = start_server();
    let script = "env | grep -E '^TENURE_(KEY|KEY_FILE|URL|DATABASE_URL)='; true";
    let key_file = server.path().join("key");
    std::fs::write(&key_file, "secret").unwrap();
    let run = |server: &CliServer, job_type: &str, url: &str| {
        let mut command = server.command();
        command.env("TENURE_KEY_FILE", &key_file);
        command.args(["work", job_type, "--", "sh", "-c", script]);
        command.env("TENURE_URL", url).env("TENURE_DATABASE_URL", "postgres://name:password@localhost/db");
        let worker = start(command);
        let line = wait_for_output(&worker, "working on");
        assert!(!line.contains("password"), "{line}");
        let job = server.wait(0, &server.create(&[job_type]));
        lines(server, id(&job))
    };
    let secret_url = server.url().replace("http://", "http://name:password@");
    assert_eq!(run(&server, "first", &secret_url), [""; 0]);
    server.key = Some(server.create_key(&["--role", "admin"]));
    assert_eq!(run(&server, "second", server.url()), [format!("TENURE_URL={}", server.url())]);
}
