//! `tenure run`.

use serde_json::{Value, json};
use tenure_e2e::cli::wait_for_output;
use tenure_e2e::{Signal, assert_fields, rows};

use crate::start_server;

#[test]
fn a_job_is_followed_to_its_result() {
    let server = start_server();
    let script = "echo working; cat >&2; echo 'progress 50 half' >&3; echo 'result {\"n\": 1}' >&3";
    let _worker = server.work_with_script("hello", script);
    let (result, words) = server.outputs(0, &["run", "hello", "-p", r#"{"name": "Ada"}"#]);
    assert_eq!(serde_json::from_str::<Value>(&result).unwrap(), json!({ "n": 1 }), "the result alone");
    for piece in [
        "queued                        job_queued",
        "queued → assigned             job_claimed",
        "assigned → running            job_started",
        "running → succeeded           job_succeeded",
        "  | working",
        "  ! {\"name\":\"Ada\"}",
    ] {
        assert_eq!(words.matches(piece).count(), 1, "{piece}: {words}");
    }
    assert!(!words.contains('\u{1b}'), "no colours, no bar: {words}");

    let job = server.json(&["run", "hello"]);
    assert_fields(&job, json!({ "outcome": "succeeded", "result": { "n": 1 } }));
    assert_eq!(server.run_ok(&["run", "hello", "-o", "name"]).trim().len(), 36);
    assert_eq!(server.run_ok(&["run", "hello", "-o", "jsonl"]).lines().count(), 1);
}

#[test]
fn a_failed_job_is_exit_code_3() {
    let server = start_server();
    let _worker = server.work_with_script("hello", "echo no such file >&2; exit 4");
    let (result, words) = server.outputs(3, &["run", "hello"]);
    assert_eq!(result, "");
    let transition = "EXIT_4: exited with 4: no such file\n";
    let summary = "tenure: the job finished in state failed: EXIT_4: exited with 4: no such file";
    for piece in [transition, summary, "help: show what happened with `tenure job events "] {
        assert!(words.contains(piece), "{piece}: {words}");
    }
}

#[test]
fn an_existing_job_is_shown_from_its_beginning() {
    let server = start_server();
    let _worker = server.work_with_script("hello", "echo 'result 1' >&3");
    let first = server.run_ok(&["run", "hello", "--idempotency-key", "k", "-o", "name"]);
    let (second, words) = server.outputs(0, &["run", "hello", "--idempotency-key", "k", "-o", "name"]);
    assert_eq!(second, first);
    assert!(words.contains("the job already exists"), "{words}");
    assert_eq!(words.matches("job_succeeded").count(), 1, "{words}");
}

#[test]
fn interrupting_a_run_does_not_stop_the_job() {
    let server = start_server();
    let mut running = server.start_command(&["run", "hello"]);
    wait_for_output(&running, "job_queued");
    running.signal(Signal::INT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    let line = wait_for_output(&running, "the job continues");
    let id = line.split("job wait ").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(server.job(id)["state"], "queued");
}

#[test]
fn logs_are_printed_and_followed() {
    let server = start_server();
    let script = "echo one; echo two >&2; while ! test -e go; do sleep 0.05; done; echo three";
    let _worker = server.work_with_script("hello", script);
    let id = server.create_running(&["hello"]);
    let mut following = server.start_command(&["job", "logs", "-f", &id]);
    wait_for_output(&following, "one");
    wait_for_output(&following, "two");
    std::fs::write(server.path().join("go"), "").unwrap();
    assert_eq!(following.wait().unwrap().code(), Some(0), "{}", following.output());
    wait_for_output(&following, "three");
    wait_for_output(&following, "the job finished in state succeeded");

    let mut lines: Vec<String> = server.run_ok(&["job", "logs", &id]).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["one", "three", "two"]);
    let answer = server.json(&["job", "logs", &id]);
    let rows = rows(&answer["lines"]);
    let row = rows.iter().find(|row| row["text"] == "two").unwrap();
    assert_fields(row, json!({ "stream": "stderr", "level": "error" }));
    assert_eq!(server.run_ok(&["job", "logs", &id, "--after", "2"]), "three\n");
    assert_eq!(server.run_ok(&["job", "logs", &id, "-o", "name"]), "1\n2\n3\n");
    assert!(server.run_ok(&["job", "logs", &id, "-o", "wide"]).contains("  stderr  error  two\n"));
    let first = server.run_ok(&["job", "logs", "-f", &id, "-o", "jsonl"]);
    assert_eq!(serde_json::from_str::<Value>(first.lines().next().unwrap()).unwrap(), rows[0]);
}
