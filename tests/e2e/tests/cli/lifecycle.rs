//! `tenure lifecycle …`.

use std::process::Stdio;

use expect_test::expect_file;
use tenure_e2e::cli::{Folder, expect_exit, transcript};

/// Runs `tenure lifecycle …` and compares everything that it prints with a snapshot.
fn check(folder: &Folder, arguments: &str, snapshot: &str) {
    let output = transcript(&folder.run(&format!("lifecycle {arguments}")));
    expect_file![format!("snapshots/{snapshot}")].assert_eq(&output);
}

#[test]
fn valid_files() {
    let folder = Folder::new();
    check(&folder, "check lifecycles/engine.toml lifecycles/so1.toml", "check_valid.txt");
    check(&folder, "check lifecycles/engine.toml -o name", "check_valid_names.txt");
    check(&folder, "check lifecycles/engine.toml -o json", "check_valid_json.txt");
    check(&folder, "check lifecycles/engine.toml lifecycles/so1.toml -o jsonl", "check_valid_jsonl.txt");
}

#[test]
fn every_error_is_reported_with_its_position() {
    let folder = Folder::new();
    folder.change("engine.toml", "timeout = \"10s\"", "timeout = \"10 sekunden\"");
    folder.change("engine.toml", "role = \"active\"", "rol = \"active\"");
    folder.change("engine.toml", "to = \"running\"", "to = \"runing\"");
    folder.change("engine.toml", "\"dispatched\", \"running\"]", "\"completed\", \"running\"]");
    check(&folder, "check lifecycles/engine.toml", "check_engine.txt");
    check(&folder, "check lifecycles/engine.toml -o jsonl", "check_engine.jsonl");
}

#[test]
fn errors_as_json() {
    let folder = Folder::new();
    folder.change("so1.toml", "outcome = \"cancelled\"", "outcome = \"canceled\"");
    check(&folder, "check lifecycles/so1.toml -o json", "check_so1_json.txt");
}

#[test]
fn a_syntax_error_is_one_error() {
    let folder = Folder::new();
    folder.change("so1.toml", "name    = \"so1\"", "name    = \"so1");
    check(&folder, "check lifecycles/so1.toml", "check_syntax.txt");
}

fn with_garbage() -> Folder {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    folder.write("binary.toml", [0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0x00]);
    folder.write("deep.toml", format!("a = {}", "[".repeat(100_000)));
    folder
}

#[test]
fn garbage_is_refused_without_a_panic() {
    let folder = with_garbage();
    folder.write("nul.toml", "name = \"a\0b\"\n");
    folder.write("large.toml", "x".repeat(10 << 20));
    folder.write("dotted.toml", format!("a{} = 1", ".a".repeat(50_000)));
    folder.write("long.toml", format!("a = \"{}\nb = 1", "x".repeat(200_000)));
    let invalid = "empty.toml binary.toml nul.toml large.toml deep.toml dotted.toml long.toml";
    let others = [("missing.toml", 5), ("lifecycles", 1), ("lifecycles/so1.toml/x", 1)];
    for (file, expected) in invalid.split(' ').map(|file| (file, 7)).chain(others) {
        for form in ["table", "json", "jsonl", "name"] {
            let (stdout, stderr) = folder.outputs(expected, &format!("lifecycle check {file} -o {form}"));
            assert!(stderr.len() + stdout.len() < 4000, "{file} {form}: the answer is short");
        }
        assert_eq!(folder.outputs(expected, &format!("lifecycle show {file}")).0, "");
    }
}

#[test]
fn garbage_is_refused_with_a_message() {
    let folder = with_garbage();
    check(&folder, "check binary.toml", "check_binary.txt");
    check(&folder, "check deep.toml", "check_deep.txt");
    check(&folder, "check empty.toml", "check_empty.txt");
    check(&folder, "check lifecycles missing.toml", "check_missing.txt");
}

#[test]
fn every_invalid_file_is_reported() {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    let (data, _) = folder.outputs(7, "lifecycle check missing.toml empty.toml lifecycles/so1.toml");
    assert_eq!(data, "empty.toml: 4 flaws\nlifecycles/so1.toml: ok, so1 v1, 5 states, 7 rules\n");
}

#[test]
fn built_in_lifecycles() {
    let folder = Folder::new();
    check(&folder, "list", "list.txt");
    check(&folder, "list -o wide", "list_wide.txt");
    check(&folder, "list -o name", "list_names.txt");
}

#[test]
fn one_lifecycle() {
    let folder = Folder::new();
    check(&folder, "show engine", "show_engine.txt");
    check(&folder, "show so1 -o json", "show_so1.json");
    check(&folder, "show nowhere", "show_unknown.txt");
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
        let (drawing, _) = folder.outputs(0, &format!("lifecycle show engine --format {format}"));
        assert!(drawing.starts_with(begins), "{format}");
    }
}

#[test]
fn changes_of_a_new_version() {
    let folder = Folder::new();
    check(&folder, "diff engine lifecycles/engine.toml", "diff_none.txt");
    folder.change("engine.toml", "timeout = \"30s\"", "timeout = \"1m\"");
    check(&folder, "diff engine lifecycles/engine.toml", "diff_same_version.txt");
    folder.change("engine.toml", "version = 1", "version = 2");
    folder.change("engine.toml", "role = \"held\",   timeout = \"10s\"", "role = \"held\"");
    folder.change("engine.toml", "[\"queued\", \"dispatched\", \"running\"]", "[\"queued\", \"running\"]");
    check(&folder, "diff engine lifecycles/engine.toml", "diff_engine.txt");
    check(&folder, "diff engine lifecycles/engine.toml -o json", "diff_engine.json");
    check(&folder, "diff engine missing.toml", "diff_missing.txt");
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
    let mut show = folder.command();
    show.args(["lifecycle", "show", "distributed", "--format", "svg"]);
    let mut child = show.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(expect_exit(child.wait_with_output().unwrap(), 0, "show").1, "");
}
