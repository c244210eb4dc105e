//! One attempt: starts the program, writes its stdin, reads its output and its commands, stops it, and turns its exit into
//! a result.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tenure_client::{Client, Fail, Job, Stage, Stop};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};

use super::Mode;
use super::folder::JobFolder;
use super::lines::{self, LineSource};
use super::log::{ProgramOutput, forward};
use crate::output;
use crate::show;

/// How long background processes of a program may hold its pipes open, and again after they were killed.
const PIPE_GRACE: Duration = Duration::from_secs(2);
/// Lines that are buffered for the server; then the program is blocked.
const LINES_AHEAD: usize = 256;
/// The descriptor to which a program writes its commands.
const COMMAND_FD: i32 = 3;
/// Variables with secrets, which programs do not inherit.
const SECRETS: [&str; 3] = ["TENURE_KEY", "TENURE_KEY_FILE", "TENURE_DATABASE_URL"];

/// The program that runs for each job.
pub(super) struct Program {
    /// The absolute path of the program.
    pub(super) path: PathBuf,
    /// The program as it was given, and its arguments.
    pub(super) command: Vec<String>,
    /// Where it runs; `None` is the job's folder.
    pub(super) cwd: Option<PathBuf>,
    /// Whether stdout can contain commands.
    pub(super) commands_in_output: bool,
    /// Exit codes that count as transient failures.
    pub(super) retry_on: Vec<u8>,
    pub(super) client: Client,
    pub(super) mode: watch::Receiver<Mode>,
}

/// How an attempt ended: a message for the terminal, and the result for the server.
struct AttemptEnd {
    message: String,
    result: Result<Value, Fail>,
}

impl AttemptEnd {
    fn new(message: impl Into<String>, result: Result<Value, Fail>) -> Self {
        Self { message: message.into(), result }
    }

    fn failed(message: String, fail: Fail, stage: Stage) -> Self {
        Self { message, result: Err(fail.stage(stage)) }
    }
}

/// The program's process group. It is killed on drop, unless the program has exited.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id.cast_signed())))
    }

    /// Ignores that the group may be gone.
    fn send(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

impl Program {
    /// Runs the program for a job. Dropping the future kills it: the SDK does so when the lease is lost.
    pub(super) async fn attempt(self: Arc<Self>, job: Job<Value>) -> Result<Value, Fail> {
        let name =
            format!("{}  {}  attempt {}", show::short(&job.id), show::plain(&job.job_type), job.attempt);
        output::message(&format!("{name}  started"));
        let mut mode = self.mode.clone();
        let end = tokio::select! {
            biased;
            end = self.run(&job) => end,
            _ = mode.wait_for(|mode| *mode == Mode::Kill) => AttemptEnd::new("released", Err(Fail::release())),
            stop = job.stopped_at_least(Stop::Shutdown) => {
                let message = if stop == Stop::LeaseLost { "stopped: lease lost" } else { "stopped: cancelled" };
                AttemptEnd::new(message, Err(Fail::release()))
            }
        };
        output::message(&format!("{name}  {}", end.message));
        end.result
    }

    async fn run(&self, job: &Job<Value>) -> AttemptEnd {
        let folder = match JobFolder::create() {
            Ok(folder) => folder,
            Err(error) => return not_started(&error),
        };
        let end = self.run_in(&folder, job).await;
        // The program may have left many files.
        let _ = tokio::task::spawn_blocking(move || drop(folder)).await;
        end
    }

    async fn run_in(&self, folder: &JobFolder, job: &Job<Value>) -> AttemptEnd {
        let (mut child, commands) = match self.spawn(folder, job) {
            Ok(started) => started,
            Err(error) => return not_started(&error),
        };
        let mut group = ProcessGroup::of(&child);
        let (to, from) = mpsc::channel(LINES_AHEAD);
        let ahead = to.downgrade();
        let writing = write(child.stdin.take(), job.payload.to_string());
        let stdout =
            if self.commands_in_output { LineSource::StdoutWithCommands } else { LineSource::Stdout };
        let out = lines::read(child.stdout.take(), stdout, to.clone());
        let err = lines::read(child.stderr.take(), LineSource::Stderr, to.clone());
        let commands = lines::read(Some(commands), LineSource::Commands, to);
        let mut reading = Box::pin(async { tokio::join!(writing, out, err, commands) });
        let (mut is_read, mut is_cancelled, mut output) = (false, false, None);
        let mut forwarding = pin!(forward(&self.client, job, folder, from));
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                _ = &mut reading, if !is_read => is_read = true,
                all = &mut forwarding, if output.is_none() => output = Some(all),
                _ = job.stopped(), if !is_cancelled => {
                    is_cancelled = true;
                    group.send(Signal::TERM);
                }
            }
        };
        // Background processes may hold the pipes open: they are killed, and what is in the pipes is still read.
        let mut is_killed = false;
        while !is_read {
            tokio::select! {
                _ = &mut reading => is_read = true,
                all = &mut forwarding, if output.is_none() => output = Some(all),
                () = tokio::time::sleep(PIPE_GRACE) => {
                    let is_server_slow = ahead.upgrade().is_some_and(|to| to.capacity() == 0);
                    if is_killed && !is_server_slow {
                        break;
                    }
                    group.send(Signal::KILL);
                    is_killed = true;
                }
            }
        }
        group.0 = None;
        drop(reading);
        let output = match output {
            Some(output) => output,
            None => forwarding.await,
        };
        match status {
            Ok(status) => self.evaluate(status, output, is_cancelled),
            Err(error) => not_started(&error),
        }
    }

    /// The child, and what it writes to the descriptor for commands.
    fn spawn(&self, folder: &JobFolder, job: &Job<Value>) -> io::Result<(Child, pipe::Receiver)> {
        let (commands, descriptor) = io::pipe()?;
        let commands = pipe::Receiver::from_owned_fd(commands.into())?;
        let mut command = Command::new(&self.path);
        command.arg0(&self.command[0]).args(&self.command[1..]).process_group(0).kill_on_drop(true);
        command.current_dir(self.cwd.as_deref().unwrap_or(folder.path()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mapping = FdMapping { parent_fd: descriptor.into(), child_fd: COMMAND_FD };
        command.fd_mappings(vec![mapping]).map_err(io::Error::other)?;
        set_environment(&mut command, folder, job);
        Ok((command.spawn()?, commands))
    }

    fn evaluate(&self, status: ExitStatus, output: ProgramOutput, is_cancelled: bool) -> AttemptEnd {
        let stderr = output.last_errors();
        let with_stderr =
            |what: &str| if stderr.is_empty() { what.to_owned() } else { format!("{what}: {stderr}") };
        match (status.code(), output.result) {
            (Some(0), _) if output.failed_asset.is_some() => {
                let message = output.failed_asset.unwrap_or_default();
                AttemptEnd::failed(message.clone(), Fail::permanent("BAD_ASSET", message), Stage::Output)
            }
            (Some(0), Some(Err(error))) => {
                let message = format!("the result is not JSON: {error}");
                AttemptEnd::failed(message.clone(), Fail::permanent("BAD_RESULT", message), Stage::Output)
            }
            (Some(0), result) => {
                AttemptEnd::new("succeeded", Ok(result.and_then(Result::ok).unwrap_or_default()))
            }
            (_, Some(Ok(result))) if is_cancelled => {
                AttemptEnd::new("cancelled", Err(Fail::cancelled().result(result)))
            }
            _ if is_cancelled => AttemptEnd::new("cancelled", Err(Fail::cancelled())),
            (Some(code), _) => {
                let (name, message) = (format!("EXIT_{code}"), format!("exited with {code}"));
                let is_transient = u8::try_from(code).is_ok_and(|code| self.retry_on.contains(&code));
                let details = with_stderr(&message);
                let fail = if is_transient {
                    Fail::transient(name, details)
                } else {
                    Fail::permanent(name, details)
                };
                AttemptEnd::failed(message, fail, Stage::Exec)
            }
            (None, _) => {
                let signal = status.signal().unwrap_or_default();
                let message = format!("killed by signal {signal}");
                let fail = Fail::transient(format!("SIGNAL_{signal}"), with_stderr(&message));
                AttemptEnd::failed(message, fail, Stage::Exec)
            }
        }
    }
}

/// What a program gets besides its stdin, and what it does not inherit.
fn set_environment(command: &mut Command, folder: &JobFolder, job: &Job<Value>) {
    for name in SECRETS {
        command.env_remove(name);
    }
    if std::env::var_os("TENURE_URL").is_some_and(|url| has_secret(&url)) {
        command.env_remove("TENURE_URL");
    }
    command
        .env("TENURE_JOB_DIR", folder.path())
        .env("TENURE_COMMAND_FD", COMMAND_FD.to_string())
        .env("TENURE_JOB_ID", &job.id)
        .env("TENURE_ATTEMPT", job.attempt.to_string())
        .env("TENURE_FENCE", job.fence.to_string())
        .env("TENURE_TYPE", &job.job_type)
        .env("TENURE_LIFECYCLE", &job.lifecycle)
        .env("TENURE_WORKER", job.record().worker.as_deref().unwrap_or_default());
    let optional = [
        ("TENURE_CORRELATION_ID", job.correlation_id.clone()),
        ("TENURE_TRACEPARENT", job.traceparent.clone()),
        ("TRACEPARENT", job.traceparent.clone()),
        ("TENURE_CHECKPOINT", job.checkpoint.as_ref().map(Value::to_string)),
    ];
    for (name, value) in optional {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Transient, unless the environment is too long: another attempt would not shorten it.
fn not_started(error: &io::Error) -> AttemptEnd {
    let message = format!("cannot start the program: {error}");
    let fail = match error.kind() {
        io::ErrorKind::ArgumentListTooLong => Fail::permanent("NOT_STARTED", &message),
        _ => Fail::transient("NOT_STARTED", &message),
    };
    AttemptEnd::failed(message, fail, Stage::Exec)
}

/// Whether a URL can contain a password or a token.
fn has_secret(url: &OsStr) -> bool {
    url.to_string_lossy().contains(['@', '?', '#'])
}

/// Writes the payload to the program, which need not read it.
async fn write(stdin: Option<ChildStdin>, mut payload: String) {
    payload.push('\n');
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(payload.as_bytes()).await;
        let _ = stdin.shutdown().await;
    }
}
