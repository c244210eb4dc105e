//! `tenure work`: any program as a worker.

mod commands;

use serde_json::{Value, json};
use tenure_e2e::cli::{CliServer, poll, wait_for_output};
use tenure_e2e::{Process, Signal, assert_fields, rows};

use crate::start_server;

fn lines(server: &CliServer, id: &str) -> Vec<String> {
    server.run_ok(&["job", "logs", id]).lines().map(str::to_owned).collect()
}

/// Starts a worker with a script, and runs a job to its end; `exit` is that of `tenure job wait`.
fn run_script(server: &CliServer, exit: i32, job_type: &str, script: &str) -> (Process, Value) {
    let worker = server.work_with_script(job_type, script);
    (worker, server.wait(exit, &server.create(&[job_type])))
}

fn id(job: &Value) -> &str {
    job["id"].as_str().unwrap()
}

#[test]
fn a_program_gets_the_payload_and_its_environment() {
    let server = start_server();
    let script = "cat; env | grep -E '^(TENURE|TRACEPARENT)' | sort";
    let _worker = server.work(&["hello", "--name", "w1", "--", "sh", "-c", script]);
    let id = server.create(&["hello", "-p", r#"{"a": [1, "ü"]}"#, "--correlation-id", "order-42"]);
    server.wait(0, &id);
    let lines = lines(&server, &id);
    assert_eq!(lines[0], r#"{"a":[1,"ü"]}"#);
    for expected in [
        &format!("TENURE_JOB_ID={id}"),
        "TENURE_ATTEMPT=1",
        "TENURE_FENCE=1",
        "TENURE_TYPE=hello",
        "TENURE_LIFECYCLE=distributed",
        "TENURE_WORKER=w1",
        "TENURE_CORRELATION_ID=order-42",
        "TENURE_COMMAND_FD=3",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:?}");
    }
    let trace = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    assert!(trace("TRACEPARENT=").is_some_and(|it| it.starts_with("00-")), "{lines:?}");
    assert_eq!(trace("TRACEPARENT="), trace("TENURE_TRACEPARENT="));
    assert_eq!(trace("TENURE_CHECKPOINT="), None);
}

#[test]
fn progress_results_and_log_lines_are_distinguished() {
    let server = start_server();
    let script = r#"
        echo plain; echo 'progress 40 half way' >&3
        echo 'result {"n": 1}' >&3; echo 'result {"n": 2}' >&3; printf 'no end'
        while ! test -e go; do sleep 0.05; done"#;
    let _worker = server.work_with_script("hello", script);
    let id = server.create_running(&["hello"]);
    let job = server.job_when(&id, "there is progress", |job| job["progress"] != 0);
    assert_eq!((job["progress"].as_f64(), &job["progress_message"]), (Some(40.0), &json!("half way")));
    std::fs::write(server.path().join("go"), "").unwrap();
    assert_eq!(server.wait(0, &id)["result"], json!({ "n": 2 }), "the last one counts");
    assert_eq!(lines(&server, &id), ["plain", "no end"]);
}

#[test]
fn only_exit_75_is_retried() {
    let server = start_server();
    let script = r#"echo progress 10 >&3; test "$TENURE_ATTEMPT" = 3 || exit 75; echo result 3 >&3"#;
    let (_worker, job) = run_script(&server, 0, "flaky", script);
    assert_fields(&job, json!({ "attempt": 3, "result": 3 }));

    let script = "echo first; echo it >&2; echo broke >&2; exit 9";
    let (_other, job) = run_script(&server, 3, "broken", script);
    let message = "exited with 9: it\nbroke";
    assert_fields(&job["error"], json!({ "code": "EXIT_9", "class": "permanent", "message": message }));
    assert_eq!(job["attempt"], 1);
}

#[test]
fn retryable_exit_codes_can_be_configured() {
    let server = start_server();
    let script = "test $TENURE_ATTEMPT = 2 || exit 9; exit 75";
    let _worker = server.work(&["hello", "--retry-on", "9,10", "--", "sh", "-c", script]);
    let job = server.wait(3, &server.create(&["hello"]));
    assert_fields(&job, json!({ "attempt": 2, "/error/code": "EXIT_75" }));
}

#[test]
fn a_killed_program_is_retried() {
    let server = start_server();
    let script = "test $TENURE_ATTEMPT = 1 && kill -KILL $$; echo again";
    let (_worker, job) = run_script(&server, 0, "hello", script);
    assert_eq!(job["attempt"], 2);
    let events = server.json(&["job", "events", id(&job)]);
    assert!(events.to_string().contains("SIGNAL_9"), "{events:#}");
}

#[test]
fn an_invalid_result_is_an_error() {
    let server = start_server();
    let (_worker, job) = run_script(&server, 3, "hello", "echo 'result {n: 1' >&3");
    assert_eq!(job["error"]["code"], "BAD_RESULT");
}

#[test]
fn any_bytes_and_any_number_of_lines_become_a_log() {
    let server = start_server();
    let script = r"printf 'a\377b\000c\r\n'; head -c 70000 /dev/zero | tr '\0' x; echo; seq 30000";
    let (_worker, job) = run_script(&server, 0, "hello", script);
    let lines = lines(&server, id(&job));
    assert_eq!(lines[0], "a\u{fffd}b\u{fffd}c");
    assert_eq!((lines[1].len(), lines[2].len()), (65536, 70000 - 65536), "cut at 64 KiB");
    assert_eq!(lines.len(), 30_003, "a program that is faster than the server loses no line");
    assert_eq!(lines.last().unwrap(), "30000");
}

#[test]
fn a_line_of_a_megabyte_is_split_into_log_lines() {
    let server = start_server();
    let script = r"head -c 1000000 /dev/zero | tr '\0' x; echo; head -c 300000 /dev/urandom | tr -d '\n'; echo; echo end";
    let (_worker, job) = run_script(&server, 0, "hello", script);
    let page = server.json(&["job", "logs", id(&job)]);
    let texts: Vec<&str> = rows(&page["lines"]).iter().map(|line| line["text"].as_str().unwrap()).collect();
    let long = texts.iter().take_while(|text| text.starts_with('x'));
    let length: usize = long.clone().map(|text| text.len()).sum();
    assert_eq!((long.count(), length), (16, 1_000_000), "nothing of it is lost");
    assert!(texts.iter().all(|text| !text.contains('\0')), "no log takes U+0000");
    assert_eq!(texts.last(), Some(&"end"), "junk does not end the log");
}

#[test]
fn a_soft_cancel_is_a_sigterm() {
    let server = start_server();
    let script = r#"trap 'echo stopping; echo "result {\"saved\": 7}" >&3; exit 1' TERM; touch up; while :; do sleep 0.05; done"#;
    let _worker = server.work_with_script("hello", script);
    let id = server.create_running(&["hello"]);
    wait_for_file(&server, "up");
    server.run_ok(&["job", "cancel", &id]);
    assert_fields(&server.wait(3, &id), json!({ "outcome": "cancelled", "result": { "saved": 7 } }));
    assert!(lines(&server, &id).contains(&"stopping".to_owned()));

    let script = "trap 'echo result true >&3; exit 0' TERM; touch up2; while :; do sleep 0.05; done";
    let _finisher = server.work_with_script("stubborn", script);
    let id = server.create_running(&["stubborn"]);
    wait_for_file(&server, "up2");
    server.run_ok(&["job", "cancel", &id]);
    assert_eq!(server.wait(0, &id)["result"], json!(true), "who finishes has finished");
}

#[test]
fn a_hard_cancel_kills_the_whole_group() {
    let server = start_server();
    let script = "trap '' TERM; sleep 600 & echo $! > inner; echo $$ > outer; wait";
    let _worker = server.work_with_script("hello", script);
    let id = server.create_running(&["hello"]);
    let (inner, outer) = (pid_in(&server, "inner"), pid_in(&server, "outer"));
    server.run_ok(&["job", "cancel", "--hard", &id]);
    server.wait(3, &id);
    wait_for_end(inner);
    wait_for_end(outer);
}

#[test]
fn a_background_process_does_not_keep_the_job_open() {
    let server = start_server();
    let (_worker, job) = run_script(&server, 0, "hello", "sleep 600 & echo $! > inner; echo done");
    assert_eq!(lines(&server, id(&job)), ["done"]);
    wait_for_end(pid_in(&server, "inner"));
}

#[test]
fn the_first_sigterm_drains_and_the_second_releases() {
    let server = start_server();
    let mut worker = server.work_with_script("hello", "while ! test -e go; do sleep 0.05; done");
    let id = server.create_running(&["hello"]);
    worker.signal(Signal::TERM).unwrap();
    wait_for_output(&worker, "no new jobs");
    let late = server.create(&["hello"]);
    std::fs::write(server.path().join("go"), "").unwrap();
    assert_eq!(worker.wait().unwrap().code(), Some(0), "{}", worker.output());
    assert_eq!(server.job(&id)["outcome"], "succeeded", "what was begun is finished");
    assert_eq!(server.job(&late)["state"], "queued", "nothing new is begun");

    let mut worker = server.work_with_script("other", "echo $$ > outer; exec sleep 600");
    let id = server.create_running(&["other"]);
    let outer = pid_in(&server, "outer");
    worker.signal(Signal::TERM).unwrap();
    wait_for_output(&worker, "no new jobs");
    worker.signal(Signal::TERM).unwrap();
    assert_eq!(worker.wait().unwrap().code(), Some(0), "{}", worker.output());
    // It is released.
    assert_fields(&server.job(&id), json!({ "state": "queued", "worker": null }));
    wait_for_end(outer);
}

#[test]
fn slots_run_concurrently() {
    let server = start_server();
    // Each waits for the other.
    let script = "touch $TENURE_JOB_ID.here; while test $(ls *.here | wc -l) -lt 2; do sleep 0.05; done";
    let _worker = server.work_with_script("hello", script);
    let (first, second) = (server.create(&["hello"]), server.create(&["hello"]));
    server.wait(0, &first);
    server.wait(0, &second);
}

fn wait_for_file(server: &CliServer, name: &str) -> String {
    poll(name, || std::fs::read_to_string(server.path().join(name)).ok())
}

fn pid_in(server: &CliServer, name: &str) -> u32 {
    poll(name, || wait_for_file(server, name).trim().parse().ok())
}

/// Waits until the process is gone or a zombie.
fn wait_for_end(pid: u32) {
    poll(&format!("process {pid} ends"), || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        (state.is_empty() || state.starts_with('Z')).then_some(())
    });
}
