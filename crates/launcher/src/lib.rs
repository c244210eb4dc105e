//! Starts `tenure` as a child process, captures its output and waits until it listens: for tests, benchmarks and fuzzing.

use std::io::{self, BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

/// Time limit for a process to print an expected line or to exit.
pub const DEADLINE: Duration = Duration::from_mins(1);
const TERMINATE_INTERVAL: Duration = Duration::from_millis(100);
const TERMINATE_ATTEMPTS_MAX: usize = 50;
/// stdout and stderr.
const STREAMS: usize = 2;

/// A child process whose output is captured. It is killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    output: Arc<Output>,
    terminate_on_drop: bool,
}

#[derive(Debug, Default)]
struct Output {
    captured: Mutex<Captured>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Captured {
    text: String,
    closed_streams: usize,
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, Captured> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the condition became true in time.
    fn wait(&self, limit: Duration, mut condition: impl FnMut(&Captured) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), limit, |captured| !condition(captured));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn capture(
        self: &Arc<Self>,
        stream: impl Read + Send + 'static,
        on_line: impl Fn(&str) + Send + 'static,
    ) {
        let output = Arc::clone(self);
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                on_line(&line);
                let mut captured = output.lock();
                captured.text.push_str(&line);
                captured.text.push('\n');
                output.changed.notify_all();
            }
            output.lock().closed_streams += 1;
            output.changed.notify_all();
        });
    }
}

impl Process {
    /// Starts the command without stdin.
    pub fn start(command: Command) -> io::Result<Self> {
        Self::start_with(command, |_| ())
    }

    /// Starts the command and calls `on_line` with each line that it prints.
    pub fn start_with(
        mut command: Command,
        on_line: impl Fn(&str) + Clone + Send + 'static,
    ) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            io::Error::other(format!("cannot start {}: {error}", command.get_program().display()))
        })?;
        let output = Arc::new(Output::default());
        if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
            output.capture(stdout, on_line.clone());
            output.capture(stderr, on_line);
        }
        Ok(Self { child, output, terminate_on_drop: false })
    }

    /// Dropping this process sends SIGTERM first, so that it can end the processes that it started.
    #[must_use]
    pub fn terminate_on_drop(mut self) -> Self {
        self.terminate_on_drop = true;
        self
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything printed so far, stdout and stderr together.
    pub fn output(&self) -> String {
        self.output.lock().text.clone()
    }

    /// Waits for the first line of which `select` returns something; `None` if the process ends without one.
    pub fn wait_for_line<T>(&self, select: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut found = None;
        self.output.wait(DEADLINE, |captured| {
            found = captured.text.lines().find_map(&select);
            found.is_some() || captured.closed_streams == STREAMS
        });
        found
    }

    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// The exit status, if the process has exited.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Waits until the process has exited and closed its output.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.output.wait(DEADLINE, |captured| captured.closed_streams == STREAMS) {
            return self.child.wait();
        }
        let message = format!("process {} did not exit in {DEADLINE:?}:\n{}", self.id(), self.output());
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }

    fn terminate(&mut self) {
        for _ in 0..TERMINATE_ATTEMPTS_MAX {
            if !matches!(self.child.try_wait(), Ok(None)) || self.signal(Signal::TERM).is_err() {
                return;
            }
            self.output.wait(TERMINATE_INTERVAL, |captured| captured.closed_streams == STREAMS);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.terminate_on_drop {
            self.terminate();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("-- output of process {}:\n{}", self.id(), self.output());
        }
    }
}

/// A running `tenure serve` or `tenure dev`. It is killed when dropped.
#[derive(Debug)]
pub struct ServerProcess {
    process: Process,
    url: String,
}

impl ServerProcess {
    /// Starts the server and waits until it listens.
    pub fn start(command: Command) -> io::Result<Self> {
        Self::start_with(command, |_| ())
    }

    /// Starts the server, calls `on_line` with each line that it prints, and waits until it listens.
    pub fn start_with(command: Command, on_line: impl Fn(&str) + Clone + Send + 'static) -> io::Result<Self> {
        let process = Process::start_with(command, on_line)?;
        match process.wait_for_line(url_in) {
            Some(url) => Ok(Self { process, url }),
            None => Err(io::Error::other(format!("the server does not listen:\n{}", process.output()))),
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        self.url.split_once("://").map_or(&self.url, |(_, address)| address)
    }

    /// Sends SIGTERM and waits for the exit.
    pub fn terminate(&mut self) -> io::Result<ExitStatus> {
        self.process.signal(Signal::TERM)?;
        self.process.wait()
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// The URL in a server's first line: `tenure 0.1.0 · http://127.0.0.1:7373 · open`.
fn url_in(line: &str) -> Option<String> {
    let url = line.strip_prefix("tenure ")?.split(" · ").nth(1)?;
    url.starts_with("http").then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_server_has_the_url_that_it_prints() {
        let script =
            "echo warning: http://other >&2; echo 'tenure 0.1.0 · https://127.0.0.1:1 · open' >&2; sleep 60";
        let server = ServerProcess::start(shell(script)).unwrap();
        assert_eq!((server.url(), server.address()), ("https://127.0.0.1:1", "127.0.0.1:1"));
    }

    #[test]
    fn a_server_that_ends_early_is_an_error_with_its_output() {
        let error = ServerProcess::start(shell("echo no such folder >&2; exit 3")).unwrap_err().to_string();
        assert!(error.contains("no such folder"), "{error}");
    }

    #[test]
    fn a_process_can_end_its_own_processes_before_it_is_dropped() {
        let (sender, received) = std::sync::mpsc::channel();
        let script = "trap 'trap \"\" TERM; echo ended; exit' TERM; echo begun; while :; do sleep 0.1; done";
        let process = Process::start_with(shell(script), move |line| sender.send(line.to_owned()).unwrap());
        let process = process.unwrap().terminate_on_drop();
        assert_eq!(process.wait_for_line(|line| (line == "begun").then_some(())), Some(()));
        drop(process);
        assert_eq!(received.iter().collect::<Vec<_>>(), ["begun", "ended"]);
    }
}
