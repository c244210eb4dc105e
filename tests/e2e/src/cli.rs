//! The command line: `tenure` in a folder, with or without a server.

use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tenure_launcher::ServerProcess;

use crate::{DEADLINE, Process, tenure};

/// A folder with the built-in lifecycle files, in which commands run.
pub struct Folder(TempDir);

impl Folder {
    #[allow(clippy::new_without_default, reason = "each one is another folder")]
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(folder.path().join("lifecycles")).unwrap();
        for file in std::fs::read_dir(xtask::cargo::root().join("lifecycles")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), folder.path().join("lifecycles").join(file.file_name())).unwrap();
        }
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Replaces text in a lifecycle file.
    pub fn change(&self, name: &str, old: &str, new: &str) {
        let path = self.path().join("lifecycles").join(name);
        let source = std::fs::read_to_string(&path).unwrap();
        assert!(source.contains(old), "{old} is in {name}");
        std::fs::write(path, source.replacen(old, new, 1)).unwrap();
    }

    /// Runs `tenure` with these arguments.
    pub fn run(&self, arguments: &str) -> Output {
        self.command().args(arguments.split_whitespace()).output().unwrap()
    }

    /// Runs it, expects this exit code, and returns stdout and stderr.
    #[track_caller]
    pub fn outputs(&self, exit: i32, arguments: &str) -> (String, String) {
        expect_exit(self.run(arguments), exit, arguments)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(tenure());
        command.current_dir(self.path()).env("TERM", "xterm-256color");
        command
    }
}

/// Everything that a command printed, and its exit code.
pub fn transcript(output: &Output) -> String {
    let mut text = String::from_utf8(output.stdout.clone()).unwrap();
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    if !stderr.is_empty() {
        let _ = write!(text, "-- stderr\n{stderr}");
    }
    let _ = writeln!(text, "-- exit {}", exit_code(output));
    text
}

pub fn exit_code(output: &Output) -> i32 {
    output.status.code().expect("no signal ended the command")
}

/// Expects this exit code, and returns stdout and stderr.
#[track_caller]
pub fn expect_exit(output: Output, exit: i32, arguments: impl Debug) -> (String, String) {
    assert_eq!(exit_code(&output), exit, "{arguments:?}: {}", transcript(&output));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A server, and the folder in which commands run that talk to it.
pub struct CliServer {
    folder: TempDir,
    process: ServerProcess,
    /// Given to every command.
    pub key: Option<String>,
}

impl CliServer {
    /// `tenure serve` with these files in its folder.
    pub fn start(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self::of("serve", folder)
    }

    /// `tenure dev`: a server with a sample job type and a worker for it.
    pub fn dev() -> Self {
        Self::of("dev", tempfile::tempdir().unwrap())
    }

    fn of(subcommand: &str, folder: TempDir) -> Self {
        let process = launch(subcommand, "127.0.0.1:0", folder.path());
        Self { folder, process, key: None }
    }

    pub fn url(&self) -> &str {
        self.process.url()
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Copies a built-in lifecycle file into the folder, and returns its text.
    pub fn copy_lifecycle(&self, name: &str) -> String {
        let source = std::fs::read_to_string(xtask::cargo::root().join("lifecycles").join(name)).unwrap();
        let folder = self.path().join("lifecycles");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), &source).unwrap();
        source
    }

    /// Sends SIGTERM and waits; the exit code.
    pub fn stop(&mut self) -> Option<i32> {
        self.process.terminate().unwrap().code()
    }

    /// Starts `tenure serve` at the same address again.
    pub fn start_again(&mut self) {
        self.process = launch("serve", self.process.address(), self.folder.path());
    }

    /// A `tenure` command that talks to this server.
    pub fn command(&self) -> Command {
        self.connect(Command::new(tenure()))
    }

    /// Points a command at this server.
    pub fn connect(&self, mut command: Command) -> Command {
        command.current_dir(self.path()).env("TENURE_URL", self.url()).env("TERM", "dumb");
        command.env_remove("TENURE_KEY_FILE");
        match &self.key {
            Some(key) => command.env("TENURE_KEY", key),
            None => command.env_remove("TENURE_KEY"),
        };
        command
    }

    /// Runs `tenure` with these arguments.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let mut limited = Command::new("timeout");
        limited.arg(DEADLINE.as_secs().to_string()).arg(tenure()).args(arguments);
        self.connect(limited).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs it, expects this exit code, and returns stdout and stderr.
    #[track_caller]
    pub fn outputs(&self, exit: i32, arguments: &[&str]) -> (String, String) {
        expect_exit(self.run(arguments), exit, arguments)
    }

    /// Runs it, expects this exit code, and returns its stdout.
    #[track_caller]
    pub fn run_expecting(&self, exit: i32, arguments: &[&str]) -> String {
        self.outputs(exit, arguments).0
    }

    /// Runs it, expects success, and returns its stdout.
    #[track_caller]
    pub fn run_ok(&self, arguments: &[&str]) -> String {
        self.run_expecting(0, arguments)
    }

    /// Runs it with `-o json`.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run_ok(&[arguments, &["-o", "json"]].concat())).unwrap()
    }

    /// Creates a job and returns its id.
    #[track_caller]
    pub fn create(&self, arguments: &[&str]) -> String {
        self.run_ok(&[&["job", "create"], arguments, &["-o", "name"]].concat()).trim().to_owned()
    }

    /// Creates a key and returns it.
    #[track_caller]
    pub fn create_key(&self, arguments: &[&str]) -> String {
        self.run_ok(&[&["key", "create"], arguments].concat()).trim().to_owned()
    }

    pub fn job(&self, id: &str) -> Value {
        self.json(&["job", "get", id])
    }

    /// Runs `tenure job wait`, expects this exit code, and returns the job.
    #[track_caller]
    pub fn wait(&self, exit: i32, id: &str) -> Value {
        self.run_expecting(exit, &["job", "wait", id]);
        self.job(id)
    }

    /// Reads the job until a condition holds.
    #[track_caller]
    pub fn job_when(&self, id: &str, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        poll(what, || Some(self.job(id)).filter(&condition))
    }

    /// Creates a job and waits until a worker runs it.
    pub fn create_running(&self, arguments: &[&str]) -> String {
        let id = self.create(arguments);
        self.job_when(&id, "a worker runs it", |job| job["phase"] == "active");
        id
    }

    /// Starts `tenure` with these arguments.
    pub fn start_command(&self, arguments: &[&str]) -> Process {
        let mut command = self.command();
        command.args(arguments);
        start(command)
    }

    /// Starts `tenure work` with these arguments.
    pub fn work(&self, arguments: &[&str]) -> Process {
        let worker = self.start_command(&[&["work"], arguments].concat());
        wait_for_output(&worker, "working on");
        worker
    }

    /// Starts `tenure work` for a type with a shell script that runs in the folder of the commands.
    pub fn work_with_script(&self, job_type: &str, script: &str) -> Process {
        self.work(&[job_type, "--slots", "2", "--cwd", ".", "--", "sh", "-c", script])
    }
}

fn launch(subcommand: &str, listen: &str, folder: &Path) -> ServerProcess {
    let mut command = Command::new(tenure());
    command.args([subcommand, "--listen", listen, "--data", "data"]).current_dir(folder);
    ServerProcess::start(command).unwrap()
}

/// Calls a function until it returns something.
#[track_caller]
pub fn poll<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "did not happen: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Starts a command. Dropping it ends it with SIGTERM, because a worker's programs have their own process groups.
pub fn start(command: Command) -> Process {
    Process::start(command).unwrap().terminate_on_drop()
}

/// Waits until a process has printed this text, and returns the line.
#[track_caller]
pub fn wait_for_output(process: &Process, text: &str) -> String {
    let found = process.wait_for_line(|line| line.contains(text).then(|| line.to_owned()));
    found.unwrap_or_else(|| panic!("never printed {text:?}, but: {}", process.output()))
}
