//! The binary from outside: whole outputs and exit codes.

#![allow(
    clippy::unwrap_used,
    clippy::needless_raw_string_hashes,
    reason = "fixtures may panic, and snapshots are written by a tool"
)]

mod bench;
mod dev;
mod exits;
mod help;
mod jobs;
mod lifecycle;
mod operators;
mod pty;
mod runs;
mod server;
mod top;
mod verify;
mod work;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with the built-in files in it, in which commands run.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lifecycles");
        std::fs::create_dir(folder.path().join("lifecycles")).unwrap();
        for file in std::fs::read_dir(files).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), folder.path().join("lifecycles").join(file.file_name())).unwrap();
        }
        Self(folder)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.0.path().join(name), bytes).unwrap();
    }

    /// A built-in file with one piece replaced.
    fn change(&self, name: &str, old: &str, new: &str) {
        let path = self.0.path().join("lifecycles").join(name);
        let source = std::fs::read_to_string(&path).unwrap();
        assert!(source.contains(old), "{old} is in {name}");
        std::fs::write(path, source.replacen(old, new, 1)).unwrap();
    }

    /// Runs `tenure` with these words.
    fn run(&self, words: &str) -> Output {
        self.command().args(words.split_whitespace()).output().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.current_dir(self.0.path()).env("TERM", "xterm-256color");
        command
    }
}

/// Everything that came out, and how it ended.
fn told(output: &Output) -> String {
    let mut text = String::from_utf8(output.stdout.clone()).unwrap();
    let words = String::from_utf8(output.stderr.clone()).unwrap();
    if !words.is_empty() {
        let _ = write!(text, "-- stderr\n{words}");
    }
    let _ = writeln!(text, "-- exit {}", code(output));
    text
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}
