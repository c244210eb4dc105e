//! `tenure top` in a pseudo-terminal.

use tenure_e2e::Signal;
use tenure_e2e::cli::{CliServer, exit_code, transcript};
use tenure_e2e::terminal::Terminal;

use crate::start_server;

fn top(server: &CliServer, words: &[&str], size: (u16, u16)) -> Terminal {
    let mut command = server.command();
    command.arg("top").args(words);
    Terminal::start(&command, size)
}

/// Whether a row of the table shows this number of jobs.
fn counts(screen: &str, state: &str, count: &str) -> bool {
    let mut rows =
        screen.lines().map(|line| line.split_whitespace().filter(|report_body| *report_body != "▸"));
    rows.any(|mut words| {
        words.by_ref().any(|report_body| report_body == state) && words.next() == Some(count)
    })
}

#[test]
fn a_failed_job_is_found_explained_and_retried() {
    let server = start_server();
    let worker = server.work_with_script("flop", "echo 'the disk is full' >&2; exit 1");
    let failed = server.create(&["flop"]);
    server.job_when(&failed, "it failed", |job| job["state"] == "failed");
    drop(worker);

    let top = top(&server, &[], (110, 40));
    top.wait_until("one failed job on the map", |screen| counts(screen, "failed", "1"));
    top.press("2/state:failed\r");
    top.wait_for("/state:failed  1");
    top.press("j\r");
    top.wait_for("EXIT_1: exited with 1: the disk is full");
    top.press("e");
    top.wait_for("finished: failed");
    top.press("l");
    top.wait_for("! the disk is full");
    top.press("h");
    top.wait_for("job_failed");
    top.press("r");
    top.wait_for(&format!("Retry job {}?", &failed[..13]));
    top.press("y");
    top.wait_for("new job: ");
    top.press("1");
    top.wait_until("the new job on the map", |screen| counts(screen, "queued", "1"));
    let _worker = server.work_with_script("flop", "true");
    top.wait_until("it moved", |screen| counts(screen, "queued", "0") && counts(screen, "succeeded", "1"));
    top.press("q");
    assert_eq!(top.wait_for_exit().code(), Some(0));
}

#[test]
fn a_marked_dead_letter_is_redriven_and_a_running_job_is_cancelled() {
    let server = start_server();
    let dead = server.create(&["idle"]);
    server.run_ok(&["job", "dead-letter", &dead, "--reason-code", "policy_violation"]);
    let top = top(&server, &["dead"], (110, 40));
    top.wait_for("policy_violation");
    top.press("j ");
    top.wait_for("1 marked");
    top.press("r");
    top.wait_for("Redrive job");
    top.press("n");
    top.wait_until("no question", |screen| !screen.contains("Redrive"));
    top.press("ry");
    top.wait_for("new job: ");
    top.press(":jobs phase:ready\r");
    top.wait_for("/phase:ready  1");
    top.press("jc");
    top.wait_for("Cancel job");
    top.press("h");
    top.wait_for("1 cancelled");
    top.press("5");
    top.wait_for("job_cancelled");
    top.press("4");
    top.wait_for("No workers");
    top.press(":quit\r");
    assert_eq!(top.wait_for_exit().code(), Some(0));
}

#[test]
fn an_interrupt_restores_the_terminal() {
    let server = start_server();
    for (keys, signal, code) in
        [(Some("\x03"), None, 130), (None, Some(Signal::INT), 130), (None, Some(Signal::TERM), 0)]
    {
        let top = top(&server, &["jobs"], (80, 24));
        top.wait_for("No jobs yet");
        if let Some(keys) = keys {
            top.press(keys);
        }
        if let Some(signal) = signal {
            top.signal(signal);
        }
        assert_eq!(top.wait_for_exit().code(), Some(code));
    }
}

#[test]
fn it_shows_a_lost_connection_and_reconnects() {
    let mut server = start_server();
    let top = top(&server, &["jobs"], (100, 24));
    top.wait_for("● live");
    server.stop();
    top.wait_for("disconnected since");
    server.start_again();
    top.wait_for("● live");
    server.create(&["idle"]);
    top.wait_for("◷ queued");
    top.press("q");
    assert_eq!(top.wait_for_exit().code(), Some(0));
}

#[test]
fn missing_rights_are_shown() {
    let mut server = start_server();
    let job = server.create(&["idle"]);
    let admin = server.run_ok(&["key", "create", "--role", "admin"]).trim().to_owned();
    server.key = Some(admin);
    let viewer = server.run_ok(&["key", "create", "--role", "viewer"]).trim().to_owned();
    let producer = server.run_ok(&["key", "create", "--role", "producer", "--user", "ada"]).trim().to_owned();
    server.key = Some(viewer);
    let seeing = top(&server, &["jobs"], (110, 24));
    seeing.wait_for("◷ queued");
    seeing.press("jcy");
    seeing.wait_for("1 refused: forbidden: the role viewer may not do this");
    server.key = Some(producer);
    let own = top(&server, &["workers"], (110, 24));
    own.wait_for("the role producer may not do this");
    own.press("1");
    own.wait_for("! forbidden");
    server.key = Some("wrong".to_owned());
    let wrong = top(&server, &["jobs"], (110, 24));
    wrong.wait_for("unauthenticated");
    for terminal in [seeing, own, wrong] {
        terminal.press("q");
        assert_eq!(terminal.wait_for_exit().code(), Some(0), "{job}");
    }
}

#[test]
fn every_view_fits_every_size() {
    let server = start_server();
    server.create(&["idle"]);
    let top = top(&server, &[], (80, 24));
    top.wait_for("● live");
    for size in [(40, 10), (12, 5), (3, 2), (1, 1), (200, 60), (80, 24)] {
        top.resize(size);
        top.press("1\x1b[B2j\relh?\x7f:x\r\x7f\x7f345\t");
    }
    top.press_until("2", |screen, _| screen.contains("◷ queued"));
    top.press_until("q", |_, ended| ended);
    assert_eq!(top.wait_for_exit().code(), Some(0));
}

#[test]
fn without_a_terminal_it_prints_an_error() {
    let server = start_server();
    let output = server.run(&["top"]);
    assert_eq!(
        transcript(&output),
        "-- stderr\ntenure: top needs a terminal\n\
         help: use `tenure job list` or `tenure events` in files and pipes\n-- exit 2\n"
    );
    let output = server.run(&["top", "jobs", "sate:failed"]);
    assert!(transcript(&output).contains("unknown filter \"sate\""), "{}", transcript(&output));
    assert_eq!(exit_code(&output), 2);
}
