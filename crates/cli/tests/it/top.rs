//! `tenure top` in a real terminal, against a real server.

use std::process::Command;

use rustix::process::Signal;

use super::pty::Pty;
use super::server::{Running, Server};

fn top(server: &Server, words: &[&str], size: (u16, u16)) -> Pty {
    let mut command = server.command();
    command.arg("top").args(words);
    Pty::start(&command, size)
}

/// Whether this line of the map's table has this number of jobs.
fn counts(screen: &str, state: &str, count: &str) -> bool {
    let mut rows = screen.lines().map(|line| line.split_whitespace().filter(|word| *word != "▸"));
    rows.any(|mut words| words.by_ref().any(|word| word == state) && words.next() == Some(count))
}

#[test]
fn a_failed_job_is_found_explained_and_retried() {
    let server = Server::start();
    let worker = server.script("flop", "echo 'the disk is full' >&2; exit 1");
    let failed = server.create(&["flop"]);
    server.job_when(&failed, "it failed", |job| job["state"] == "failed");
    drop(worker);

    let top = top(&server, &[], (110, 40));
    top.shows_when("one failed job on the map", |screen| counts(screen, "failed", "1"));
    top.types("2/state:failed\r");
    top.shows("/state:failed  1");
    top.types("j\r");
    top.shows("EXIT_1: exited with 1: the disk is full");
    top.types("e");
    top.shows("it is over, failed");
    top.types("l");
    top.shows("! the disk is full");
    top.types("h");
    top.shows("job_failed");
    top.types("r");
    top.shows(&format!("Retry job {} as new?", &failed[..13]));
    top.types("y");
    top.shows("the new job is");
    top.types("1");
    top.shows_when("the new job on the map", |screen| counts(screen, "queued", "1"));
    let _worker = server.script("flop", "true");
    top.shows_when("it moved", |screen| counts(screen, "queued", "0") && counts(screen, "succeeded", "1"));
    top.types("q");
    assert_eq!(top.ends().code(), Some(0));
}

#[test]
fn a_marked_dead_letter_is_redriven_and_a_running_job_is_cancelled() {
    let server = Server::start();
    let dead = server.create(&["idle"]);
    server.does(&["job", "dead-letter", &dead, "--reason-code", "policy_violation"]);
    let top = top(&server, &["dead"], (110, 40));
    top.shows("policy_violation");
    top.types("j ");
    top.shows("1 marked");
    top.types("r");
    top.shows("Redrive job");
    top.types("n");
    top.shows_when("no question", |screen| !screen.contains("Redrive"));
    top.types("ry");
    top.shows("the new job is");
    top.types(":jobs phase:ready\r");
    top.shows("/phase:ready  1");
    top.types("jc");
    top.shows("Cancel job");
    top.types("h");
    top.shows("1 cancelled");
    top.types("5");
    top.shows("job_cancelled");
    top.types("4");
    top.shows("No worker was heard");
    top.types(":quit\r");
    assert_eq!(top.ends().code(), Some(0));
}

#[test]
fn the_terminal_is_given_back_when_it_is_interrupted() {
    let server = Server::start();
    for (keys, signal, code) in
        [(Some("\x03"), None, 130), (None, Some(Signal::INT), 130), (None, Some(Signal::TERM), 0)]
    {
        let top = top(&server, &["jobs"], (80, 24));
        top.shows("No jobs yet");
        if let Some(keys) = keys {
            top.types(keys);
        }
        if let Some(signal) = signal {
            top.send(signal);
        }
        assert_eq!(top.ends().code(), Some(code));
    }
}

#[test]
fn it_says_that_the_server_is_away_and_goes_on_when_it_is_back() {
    let mut server = Server::start();
    let top = top(&server, &["jobs"], (100, 24));
    top.shows("● live");
    server.stop();
    top.shows("not live since");
    let mut again = Command::new(env!("CARGO_BIN_EXE_tenure"));
    let address = server.url.trim_start_matches("http://").to_owned();
    again.args(["serve", "--listen", &address, "--data", "data"]).current_dir(server.folder.path());
    let again = Running::start(again);
    again.says("http://");
    top.shows("● live");
    server.create(&["idle"]);
    top.shows("◷ queued");
    top.types("q");
    assert_eq!(top.ends().code(), Some(0));
}

#[test]
fn who_may_not_is_told_so() {
    let mut server = Server::start();
    let job = server.create(&["idle"]);
    let admin = server.does(&["key", "create", "--role", "admin"]).trim().to_owned();
    server.key = Some(admin);
    let viewer = server.does(&["key", "create", "--role", "viewer"]).trim().to_owned();
    let producer = server.does(&["key", "create", "--role", "producer", "--user", "ada"]).trim().to_owned();
    server.key = Some(viewer);
    let seeing = top(&server, &["jobs"], (110, 24));
    seeing.shows("◷ queued");
    seeing.types("jcy");
    seeing.shows("1 refused: forbidden: the role viewer may not do this");
    server.key = Some(producer);
    let own = top(&server, &["workers"], (110, 24));
    own.shows("the role producer may not do this");
    own.types("1");
    own.shows("! forbidden");
    server.key = Some("wrong".to_owned());
    let wrong = top(&server, &["jobs"], (110, 24));
    wrong.shows("unauthenticated");
    for terminal in [seeing, own, wrong] {
        terminal.types("q");
        assert_eq!(terminal.ends().code(), Some(0), "{job}");
    }
}

#[test]
fn every_view_is_drawn_on_every_size() {
    let server = Server::start();
    server.create(&["idle"]);
    let top = top(&server, &[], (80, 24));
    top.shows("● live");
    for size in [(40, 10), (12, 5), (3, 2), (1, 1), (200, 60), (80, 24)] {
        top.resize(size);
        top.types("1\x1b[B2j\relh?\x7f:x\r\x7f\x7f345\t");
    }
    top.insists("2", |screen, _| screen.contains("◷ queued"));
    top.insists("q", |_, ended| ended);
    assert_eq!(top.ends().code(), Some(0));
}

#[test]
fn what_is_no_terminal_is_told_in_a_sentence() {
    let server = Server::start();
    let output = server.run(&["top"]);
    assert_eq!(
        super::told(&output),
        "-- stderr\ntenure: top needs a terminal, and this is none\n\
         help: `tenure job list` and `tenure events` write to files and pipes\n-- exit 2\n"
    );
    let output = server.run(&["top", "jobs", "sate:failed"]);
    assert!(super::told(&output).contains("no filter is called \"sate\" here"), "{}", super::told(&output));
    assert_eq!(super::code(&output), 2);
}
