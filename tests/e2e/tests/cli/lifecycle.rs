//! `tenure lifecycle …`.

use std::process::Stdio;

use expect_test::{Expect, expect, expect_file};
use tenure_e2e::cli::{Folder, exit_code, transcript};

fn check(folder: &Folder, words: &str, expected: &Expect) {
    expected.assert_eq(&transcript(&folder.run(words)));
}

#[test]
fn valid_files() {
    let folder = Folder::new();
    check(
        &folder,
        "lifecycle check lifecycles/engine.toml lifecycles/so1.toml",
        &expect![[r#"
            lifecycles/engine.toml: ok, engine v1, 5 states, 12 rules
            lifecycles/so1.toml: ok, so1 v1, 5 states, 7 rules
            -- exit 0
        "#]],
    );
    check(
        &folder,
        "lifecycle check lifecycles/engine.toml -o name",
        &expect![[r#"
        engine
        -- exit 0
    "#]],
    );
    check(
        &folder,
        "lifecycle check lifecycles/engine.toml -o json",
        &expect![[r#"
        {
          "file": "lifecycles/engine.toml",
          "flaws": [],
          "ok": true
        }
        -- exit 0
    "#]],
    );
    check(
        &folder,
        "lifecycle check lifecycles/engine.toml lifecycles/so1.toml -o jsonl",
        &expect![[r#"
        {"file":"lifecycles/engine.toml","flaws":[],"ok":true}
        {"file":"lifecycles/so1.toml","flaws":[],"ok":true}
        -- exit 0
    "#]],
    );
}

#[test]
fn every_error_is_reported_with_its_position() {
    let folder = Folder::new();
    folder.change("engine.toml", "timeout = \"10s\"", "timeout = \"10 sekunden\"");
    folder.change("engine.toml", "role = \"active\"", "rol = \"active\"");
    folder.change("engine.toml", "to = \"running\"", "to = \"runing\"");
    folder.change(
        "engine.toml",
        "[\"queued\", \"dispatched\", \"running\"]",
        "[\"queued\", \"completed\", \"running\"]",
    );
    expect_file!["snapshots/check_engine.txt"]
        .assert_eq(&transcript(&folder.run("lifecycle check lifecycles/engine.toml")));
    expect_file!["snapshots/check_engine.jsonl"]
        .assert_eq(&transcript(&folder.run("lifecycle check lifecycles/engine.toml -o jsonl")));
}

#[test]
fn errors_as_json() {
    let folder = Folder::new();
    folder.change("so1.toml", "outcome = \"cancelled\"", "outcome = \"canceled\"");
    check(
        &folder,
        "lifecycle check lifecycles/so1.toml -o json",
        &expect![[r#"
        {
          "file": "lifecycles/so1.toml",
          "flaws": [
            {
              "column": 25,
              "help": "did you mean `cancelled`? there are succeeded, partial, failed, cancelled, rejected and dead",
              "line": 12,
              "message": "`canceled` is not an outcome",
              "places": [
                {
                  "column": 25,
                  "end": 389,
                  "label": "unknown",
                  "line": 12,
                  "start": 379
                }
              ],
              "rule": "L1"
            }
          ],
          "ok": false
        }
        -- exit 7
    "#]],
    );
}

#[test]
fn a_syntax_error_is_one_error() {
    let folder = Folder::new();
    folder.change("so1.toml", "name    = \"so1\"", "name    = \"so1");
    check(
        &folder,
        "lifecycle check lifecycles/so1.toml",
        &expect![[r#"
        lifecycles/so1.toml: 1 flaw
        -- stderr
        syntax

          × this is not TOML: invalid basic string, expected `"`
           ╭─[lifecycles/so1.toml:2:15]
         1 │ # A parcel: bin, courier, one of three trays. Seed: 002_3b132f1c2daf49ae.txt
         2 │ name    = "so1
           ·               ▲
           ·               ╰── here
         3 │ version = 1
           ╰────
          help: a lifecycle is a TOML file: names bare, texts in double quotes, one `key = value` to a
                line

        -- exit 7
    "#]],
    );
}

#[test]
fn garbage_is_refused_without_a_panic() {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    folder.write("binary.toml", [0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0x00]);
    folder.write("nul.toml", "name = \"a\0b\"\n");
    folder.write("large.toml", "x".repeat(10 << 20));
    folder.write("deep.toml", format!("a = {}", "[".repeat(100_000)));
    folder.write("dotted.toml", format!("a{} = 1", ".a".repeat(50_000)));
    folder.write("long.toml", format!("a = \"{}\nb = 1", "x".repeat(200_000)));
    for (file, expected) in [
        ("empty.toml", 7),
        ("binary.toml", 7),
        ("nul.toml", 7),
        ("large.toml", 7),
        ("deep.toml", 7),
        ("dotted.toml", 7),
        ("long.toml", 7),
        ("missing.toml", 5),
        ("lifecycles", 1),
        ("lifecycles/so1.toml/x", 1),
    ] {
        for form in ["table", "json", "jsonl", "name"] {
            let output = folder.run(&format!("lifecycle check {file} -o {form}"));
            assert_eq!(exit_code(&output), expected, "{file} {form}: {}", transcript(&output));
            assert!(output.stderr.len() + output.stdout.len() < 4000, "{file} {form} is answered briefly");
        }
        let output = folder.run(&format!("lifecycle show {file}"));
        assert_eq!(exit_code(&output), expected, "show {file}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn garbage_is_refused_with_a_message() {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    folder.write("binary.toml", [0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0x00]);
    folder.write("deep.toml", format!("a = {}", "[".repeat(100_000)));
    check(
        &folder,
        "lifecycle check binary.toml",
        &expect![[r#"
        binary.toml: 1 flaw
        -- stderr
        syntax

          × this is not text: a lifecycle is a TOML file in UTF-8 (binary.toml:1:5)
          help: is this the right file?

        -- exit 7
    "#]],
    );
    check(
        &folder,
        "lifecycle check deep.toml",
        &expect![[r#"
        deep.toml: 1 flaw
        -- stderr
        syntax

          × this is not TOML: cannot recurse further; max recursion depth met (deep.toml:1:85)
          help: a lifecycle is nested three deep at most

        -- exit 7
    "#]],
    );
    expect_file!["snapshots/check_empty.txt"]
        .assert_eq(&transcript(&folder.run("lifecycle check empty.toml")));
    check(
        &folder,
        "lifecycle check lifecycles missing.toml",
        &expect![[r#"
        -- stderr
        tenure: lifecycles: is a directory; name the files in it
        tenure: there is no file missing.toml
        -- exit 5
    "#]],
    );
}

#[test]
fn every_invalid_file_is_reported() {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    let output = folder.run("lifecycle check missing.toml empty.toml lifecycles/so1.toml");
    assert_eq!(exit_code(&output), 7);
    let data = String::from_utf8(output.stdout).unwrap();
    assert_eq!(data, "empty.toml: 4 flaws\nlifecycles/so1.toml: ok, so1 v1, 5 states, 7 rules\n");
}

#[test]
fn built_in_lifecycles() {
    let folder = Folder::new();
    check(
        &folder,
        "lifecycle list",
        &expect![[r#"
        NAME         VERSION  STATES  ABOUT
        distributed  1        7       One owner at a time, on a lease, over a fleet of workers.
        engine       1        5       Dispatched to an engine: nothing fails silently, nothing waits forever.
        image        1        6       Guarded at the door, paid by credits, moderated, retried, and reviewed when it dies.
        pattern      1        5       Progress while it runs, assets that outlive it, and partial success said plainly.
        so1          1        5       Pending, running, and exactly one of three trays; a retry is a new job.
        -- exit 0
    "#]],
    );
    check(
        &folder,
        "lifecycle list -o wide",
        &expect![[r#"
        NAME         VERSION  STATES  RULES  MOUNT          ABOUT
        distributed  1        7       19     -              One owner at a time, on a lease, over a fleet of workers.
        engine       1        5       12     /engine/jobs   Dispatched to an engine: nothing fails silently, nothing waits forever.
        image        1        6       9      /image/jobs    Guarded at the door, paid by credits, moderated, retried, and reviewed when it dies.
        pattern      1        5       6      /jobs          Progress while it runs, assets that outlive it, and partial success said plainly.
        so1          1        5       7      /so1/api/jobs  Pending, running, and exactly one of three trays; a retry is a new job.
        -- exit 0
    "#]],
    );
    check(
        &folder,
        "lifecycle list -o name",
        &expect![[r#"
        distributed
        engine
        image
        pattern
        so1
        -- exit 0
    "#]],
    );
}

#[test]
fn one_lifecycle() {
    let folder = Folder::new();
    expect_file!["snapshots/show_engine.txt"].assert_eq(&transcript(&folder.run("lifecycle show engine")));
    expect_file!["snapshots/show_so1.json"].assert_eq(&transcript(&folder.run("lifecycle show so1 -o json")));
    check(
        &folder,
        "lifecycle show nowhere",
        &expect![[r#"
        -- stderr
        tenure: there is no lifecycle and no file nowhere; built in are distributed, engine, image, pattern, so1
        -- exit 5
    "#]],
    );
}

#[test]
fn a_file_takes_precedence_over_a_name() {
    let folder = Folder::new();
    let so1 = std::fs::read_to_string(folder.path().join("lifecycles/so1.toml")).unwrap();
    folder.write("engine", so1);
    assert_eq!(folder.run("lifecycle show engine -o name").stdout, b"so1\n");
}

#[test]
fn only_the_drawing() {
    let folder = Folder::new();
    for (format, begins) in
        [("text", "    ┌"), ("mermaid", "stateDiagram-v2\n"), ("dot", "digraph "), ("svg", "<svg ")]
    {
        let output = folder.run(&format!("lifecycle show engine --format {format}"));
        assert_eq!(exit_code(&output), 0);
        assert!(String::from_utf8(output.stdout).unwrap().starts_with(begins), "{format}");
    }
}

#[test]
fn changes_of_a_new_version() {
    let folder = Folder::new();
    check(
        &folder,
        "lifecycle diff engine lifecycles/engine.toml",
        &expect![[r#"
        -- stderr
        engine v1 and engine v1 are the same
        -- exit 0
    "#]],
    );
    folder.change("engine.toml", "timeout = \"30s\"", "timeout = \"1m\"");
    check(
        &folder,
        "lifecycle diff engine lifecycles/engine.toml",
        &expect![[r#"
        ~ state `queued`: timeout 30s → timeout 1m
        -- stderr
        live jobs of engine v1 could go on under engine v1; the new file must raise `version`, since jobs keep the one they were created under
        -- exit 0
    "#]],
    );
    folder.change("engine.toml", "version = 1", "version = 2");
    folder.change(
        "engine.toml",
        "dispatched = { role = \"held\",   timeout = \"10s\" }",
        "dispatched = { role = \"held\" }",
    );
    folder.change("engine.toml", "[\"queued\", \"dispatched\", \"running\"]", "[\"queued\", \"running\"]");
    check(
        &folder,
        "lifecycle diff engine lifecycles/engine.toml",
        &expect![[r#"
        ~ version: 1 → 2
        ~ state `queued`: timeout 30s → timeout 1m
        ~ state `dispatched`: timeout 10s → no timeout
            blocks: the timeout of a live job in `dispatched` already runs, and no rule is left for it
        - rule `timeout` from `dispatched`: to `failed`, event JOB_FAILED
        -- stderr
        live jobs of engine v1 could not go on under engine v2
        -- exit 6
    "#]],
    );
    expect_file!["snapshots/diff_engine.json"]
        .assert_eq(&transcript(&folder.run("lifecycle diff engine lifecycles/engine.toml -o json")));
    check(
        &folder,
        "lifecycle diff engine missing.toml",
        &expect![[r#"
        -- stderr
        tenure: there is no file missing.toml
        -- exit 5
    "#]],
    );
}

#[test]
fn colours_only_on_terminals() {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    let run = |name: &str, value: &str| {
        folder.command().args(["lifecycle", "check", "empty.toml"]).env(name, value).output().unwrap()
    };
    for (name, value, coloured) in
        [("X", "1", false), ("NO_COLOR", "1", false), ("CLICOLOR_FORCE", "1", true)]
    {
        assert_eq!(run(name, value).stderr.contains(&0x1b), coloured, "{name}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new();
    let mut child = folder
        .command()
        .args(["lifecycle", "show", "distributed", "--format", "svg"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(exit_code(&output), 0);
    assert!(output.stderr.is_empty());
}
