//! Help starts with examples, and the examples work.

use std::process::Command;

use super::{Folder, code};

const COMMANDS: &[&str] =
    &["", "lifecycle", "lifecycle check", "lifecycle show", "lifecycle list", "lifecycle diff", "verify"];

#[test]
fn every_help_starts_with_examples() {
    let folder = Folder::new();
    for command in COMMANDS {
        for flag in ["--help", "-h"] {
            let output = folder.run(&format!("{command} {flag}"));
            assert_eq!(code(&output), 0);
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.starts_with("Examples:\n  tenure "), "{command} {flag}:\n{text}");
        }
    }
}

#[tokio::test]
async fn every_example_works() {
    let folder = Folder::new();
    drop(tenure_store::AnyStore::open(&folder.0.path().join("tenure-data")).await.unwrap());
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    for command in COMMANDS {
        let help = String::from_utf8(folder.run(&format!("{command} --help")).stdout).unwrap();
        let examples: Vec<&str> =
            help.lines().skip(1).take_while(|line| !line.is_empty()).map(str::trim).collect();
        assert!(!examples.is_empty());
        for example in examples {
            let mut shell = Command::new("sh");
            let output =
                shell.args(["-c", example]).current_dir(folder.0.path()).env("PATH", &path).output().unwrap();
            assert_eq!(code(&output), 0, "{example}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn what_is_not_a_command_is_a_usage_error() {
    let folder = Folder::new();
    for words in [
        "",
        "lifecycle",
        "lifecycle chek",
        "lifecycle check",
        "lifecycle show",
        "lifecycle list -o xml",
        "lifecycle diff engine",
    ] {
        let output = folder.run(words);
        assert_eq!(code(&output), 2, "{words}");
        assert!(output.stdout.is_empty(), "words go to stderr: {words}");
    }
}
