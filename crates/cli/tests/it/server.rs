//! A real `tenure serve`, and `tenure` asking it.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::{code, told};

/// How long anything may take before it counts as never happening.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A server with a folder of its own, in which commands run.
pub(crate) struct Server {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
    pub(crate) key: Option<String>,
    process: Running,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
        for file in ["gate.toml", "tenure.toml"] {
            std::fs::copy(fixtures.join(file), folder.path().join(file)).unwrap();
        }
        Self::of("serve", folder)
    }

    /// `tenure dev`: the demo and its worker.
    pub(crate) fn dev() -> Self {
        Self::of("dev", tempfile::tempdir().unwrap())
    }

    fn of(command: &str, folder: TempDir) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tenure"));
        program.args([command, "--listen", "127.0.0.1:0", "--data", "data"]).current_dir(folder.path());
        let process = Running::start(program);
        let first = process.says("http://");
        let url = first.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
        Self { folder, url, key: None, process }
    }

    /// Stops it as an operator would.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.process.send(Signal::TERM);
        self.process.end().code()
    }

    /// A command that asks this server.
    pub(crate) fn command(&self) -> Command {
        self.asking(Command::new(env!("CARGO_BIN_EXE_tenure")))
    }

    fn asking(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path()).env("TENURE_URL", &self.url).env("TERM", "dumb");
        match &self.key {
            Some(key) => command.env("TENURE_KEY", key),
            None => command.env_remove("TENURE_KEY"),
        };
        command
    }

    /// Runs `tenure` with these arguments.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let mut limited = Command::new("timeout");
        limited.arg(PATIENCE.as_secs().to_string()).arg(env!("CARGO_BIN_EXE_tenure")).args(args);
        self.asking(limited).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs it, expects this exit code, and gives what it wrote to stdout.
    pub(crate) fn ends(&self, exit: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(code(&output), exit, "{args:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it, expects it to be done, and gives what it wrote to stdout.
    pub(crate) fn does(&self, args: &[&str]) -> String {
        self.ends(0, args)
    }

    /// The same as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.does(&[args, &["-o", "json"]].concat())).unwrap()
    }

    /// Creates a job and gives its id.
    pub(crate) fn create(&self, args: &[&str]) -> String {
        self.does(&[&["job", "create"], args, &["-o", "name"]].concat()).trim().to_owned()
    }

    pub(crate) fn job(&self, id: &str) -> Value {
        self.json(&["job", "get", id])
    }

    /// Asks for the job until it is as wanted.
    pub(crate) fn job_when(&self, id: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let job = self.job(id);
            if wanted(&job) {
                return job;
            }
            assert!(begun.elapsed() < PATIENCE, "it never happened that {what}: {job:#}");
        }
    }

    /// A job that a worker has begun and not ended.
    pub(crate) fn begun(&self, args: &[&str]) -> String {
        let id = self.create(args);
        self.job_when(&id, "it runs", |job| job["phase"] == "active");
        id
    }

    /// Starts `tenure work` with these arguments.
    pub(crate) fn work(&self, args: &[&str]) -> Running {
        let mut command = self.command();
        command.arg("work").args(args);
        let worker = Running::start(command);
        worker.says("working on");
        worker
    }

    /// Starts `tenure work` for a type with a shell script.
    pub(crate) fn script(&self, job_type: &str, script: &str) -> Running {
        self.work(&[job_type, "--slots", "2", "--", "sh", "-c", script])
    }
}

/// A process whose words are heard while it runs.
pub(crate) struct Running {
    child: Child,
    heard: Arc<Heard>,
}

#[derive(Default)]
struct Heard {
    said: Mutex<Said>,
    more: Condvar,
}

#[derive(Default)]
struct Said {
    words: String,
    /// Which of stdout and stderr have come to their end.
    silent: usize,
}

impl Heard {
    /// Waits until it is so, for a while.
    fn wait(&self, patience: Duration, mut is_so: impl FnMut(&Said) -> bool) -> bool {
        let said = self.said.lock().unwrap();
        !self.more.wait_timeout_while(said, patience, |said| !is_so(said)).unwrap().1.timed_out()
    }

    fn listen(self: &Arc<Self>, from: impl Read + Send + 'static) {
        let heard = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                let mut said = heard.said.lock().unwrap();
                said.words.push_str(&line);
                said.words.push('\n');
                heard.more.notify_all();
            }
            heard.said.lock().unwrap().silent += 1;
            heard.more.notify_all();
        });
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let heard = Arc::new(Heard::default());
        heard.listen(child.stdout.take().unwrap());
        heard.listen(child.stderr.take().unwrap());
        Self { child, heard }
    }

    pub(crate) fn words(&self) -> String {
        self.heard.said.lock().unwrap().words.clone()
    }

    /// Waits until it has said this, and gives the line.
    pub(crate) fn says(&self, piece: &str) -> String {
        let mut found = None;
        self.heard.wait(PATIENCE, |said| {
            found = said.words.lines().find(|line| line.contains(piece)).map(str::to_owned);
            found.is_some() || said.silent == 2
        });
        found.unwrap_or_else(|| panic!("never said {piece:?}, but: {}", self.words()))
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let is_silent = self.heard.wait(PATIENCE, |said| said.silent == 2);
        assert!(is_silent, "it never ended: {}", self.words());
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    /// A worker's programs are in groups of their own, so a worker is told to end them before it is killed.
    fn drop(&mut self) {
        for _ in 0..50 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            self.send(Signal::TERM);
            self.heard.wait(Duration::from_millis(100), |said| said.silent == 2);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
