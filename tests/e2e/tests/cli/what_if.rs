//! `tenure lifecycle what-if`.

use tenure_e2e::cli::CliServer;

/// A server with one succeeded and one waiting job, and the file of their lifecycle.
fn server_with_jobs() -> (CliServer, String) {
    let server = CliServer::start(&[]);
    let source = server.copy_lifecycle("distributed.toml");
    let worker = server.work(&["hello", "--", "true"]);
    server.run_ok(&["run", "hello"]);
    drop(worker);
    server.create(&["idle"]);
    (server, source)
}

fn write(server: &CliServer, source: &str) {
    std::fs::write(server.path().join("new.toml"), source).unwrap();
}

const WHAT_IF: [&str; 5] = ["lifecycle", "what-if", "new.toml", "--since", "1h"];

#[test]
fn a_version_that_changes_nothing_exits_with_0() {
    let (server, source) = server_with_jobs();
    write(&server, &source.replacen("version = 1", "version = 2", 1));
    let (stdout, stderr) = server.outputs(0, &WHAT_IF);
    assert!(stdout.contains("v1       queued   ready  1     yes"), "{stdout}");
    assert!(stdout.contains("succeeded  succeeded         1     "), "{stdout}");
    let summary = "distributed v2, by the jobs of v1 and before: 1 of 1 live jobs could continue; 0 of 1 would have ended otherwise";
    assert!(stderr.contains(summary) && stderr.contains("replays recorded triggers"), "{stderr}");
    let json = server.json(&WHAT_IF);
    assert_eq!((&json["version"], &json["histories"]["examined"]), (&2.into(), &1.into()));
    assert_eq!(server.run_ok(&[&WHAT_IF[..], &["-o", "name"]].concat()), "");
}

#[test]
fn a_version_that_live_jobs_could_not_follow_exits_with_6() {
    let (server, source) = server_with_jobs();
    let renamed = source.replace("queued", "waiting").replacen("version = 1", "version = 2", 1);
    write(&server, &renamed);
    let (stdout, stderr) = server.outputs(6, &WHAT_IF);
    assert!(stdout.contains("no: a live job may be in `queued`, which would not exist"), "{stdout}");
    assert!(
        stderr.contains("0 of 1 live jobs could continue; 0 of 1 would have ended otherwise"),
        "{stderr}"
    );
    let ids = server.run_expecting(6, &[&WHAT_IF[..], &["-o", "name"]].concat());
    assert_eq!(ids.lines().count(), 1, "{ids}");
}

#[test]
fn other_errors_have_their_exit_codes() {
    let (server, source) = server_with_jobs();
    write(&server, &source.replacen("to = \"queued\"", "to = \"nowhere\"", 1));
    let check = server.outputs(7, &["lifecycle", "check", "new.toml"]);
    let (_, stderr) = server.outputs(7, &WHAT_IF);
    assert_eq!(stderr, check.1, "the errors are those of the check");
    write(&server, &source.replacen("name    = \"distributed\"", "name = \"other\"", 1));
    server.outputs(5, &WHAT_IF);
    server.outputs(2, &["lifecycle", "what-if", "new.toml", "--since", "yesterday"]);
    server.outputs(5, &["lifecycle", "what-if", "missing.toml"]);
    server.outputs(9, &[&WHAT_IF[..], &["--server", "http://127.0.0.1:9"]].concat());
}
