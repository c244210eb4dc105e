//! `tenure top` in a pseudo-terminal.

use tenure_e2e::Signal;
use tenure_e2e::cli::CliServer;
use tenure_e2e::terminal::Terminal;

use crate::start_server;

fn top(server: &CliServer, words: &[&str], size: (u16, u16)) -> Terminal {
    let mut command = server.command();
    command.arg("top").args(words);
    Terminal::start(&command, size)
}

/// Presses keys and waits for the text that they show, step by step.
#[track_caller]
fn steps(top: &Terminal, steps: &[(&str, &str)]) {
    for (keys, text) in steps {
        top.press(keys);
        top.wait_for(text);
    }
}

#[track_caller]
fn quit(top: &Terminal, keys: &str) {
    top.press(keys);
    assert_eq!(top.wait_for_exit().code(), Some(0));
}

/// Whether a row of the table shows this number of jobs.
fn counts(screen: &str, state: &str, count: &str) -> bool {
    let mut rows = screen.lines().map(|line| line.split_whitespace().filter(|word| *word != "▸"));
    rows.any(|mut words| words.by_ref().any(|word| word == state) && words.next() == Some(count))
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
    let found =
        [("2/state:failed\r", "/state:failed  1"), ("j\r", "EXIT_1: exited with 1: the disk is full")];
    steps(&top, &found);
    steps(&top, &[("e", "finished: failed"), ("l", "! the disk is full"), ("h", "job_failed")]);
    steps(&top, &[("r", &format!("Retry job {}?", &failed[..13])), ("y", "new job: ")]);
    top.press("1");
    top.wait_until("the new job on the map", |screen| counts(screen, "queued", "1"));
    let _worker = server.work_with_script("flop", "true");
    top.wait_until("it moved", |screen| counts(screen, "queued", "0") && counts(screen, "succeeded", "1"));
    quit(&top, "q");
}

#[test]
fn a_marked_dead_letter_is_redriven_and_a_running_job_is_cancelled() {
    let server = start_server();
    let dead = server.create(&["idle"]);
    server.run_ok(&["job", "dead-letter", &dead, "--reason-code", "policy_violation"]);
    let top = top(&server, &["dead"], (110, 40));
    top.wait_for("policy_violation");
    steps(&top, &[("j ", "1 marked"), ("r", "Redrive job")]);
    top.press("n");
    top.wait_until("no question", |screen| !screen.contains("Redrive"));
    steps(&top, &[("ry", "new job: "), (":jobs phase:ready\r", "/phase:ready  1")]);
    steps(&top, &[("jc", "Cancel job"), ("h", "1 cancelled"), ("5", "job_cancelled"), ("4", "No workers")]);
    quit(&top, ":quit\r");
}

#[test]
fn an_interrupt_restores_the_terminal() {
    let server = start_server();
    for (signal, code) in [(None, 130), (Some(Signal::INT), 130), (Some(Signal::TERM), 0)] {
        let top = top(&server, &["jobs"], (80, 24));
        top.wait_for("No jobs yet");
        match signal {
            None => top.press("\x03"),
            Some(signal) => top.signal(signal),
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
    quit(&top, "q");
}

#[test]
fn missing_rights_are_shown() {
    let mut server = start_server();
    server.create(&["idle"]);
    server.key = Some(server.create_key(&["--role", "admin"]));
    let viewer = server.create_key(&["--role", "viewer"]);
    let producer = server.create_key(&["--role", "producer", "--user", "ada"]);
    server.key = Some(viewer);
    let seeing = top(&server, &["jobs"], (110, 24));
    seeing.wait_for("◷ queued");
    steps(&seeing, &[("jcy", "1 refused: forbidden: the role viewer may not do this")]);
    server.key = Some(producer);
    let own = top(&server, &["workers"], (110, 24));
    own.wait_for("the role producer may not do this");
    steps(&own, &[("1", "! forbidden")]);
    server.key = Some("wrong".to_owned());
    let wrong = top(&server, &["jobs"], (110, 24));
    wrong.wait_for("unauthenticated");
    for terminal in [seeing, own, wrong] {
        quit(&terminal, "q");
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
    let message = "tenure: top needs a terminal\n\
                   help: use `tenure job list` or `tenure events` in files and pipes\n";
    assert_eq!(server.outputs(2, &["top"]), (String::new(), message.to_owned()));
    let (stdout, stderr) = server.outputs(2, &["top", "jobs", "sate:failed"]);
    assert!(format!("{stdout}{stderr}").contains("`sate` is not a key of the query"), "{stderr}");
}
