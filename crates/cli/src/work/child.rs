//! One attempt: the program is started, fed, heard, stopped, and its end is judged.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tenure_client::{Client, Fail, Job, Stage, Stop};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};

use super::Order;
use super::lines;
use super::log::{Heard, hear};
use crate::output;
use crate::show;

/// How long what a program left behind may hold its pipes open, and again after it was killed.
const PIPE_GRACE: Duration = Duration::from_secs(2);
/// Lines that are read ahead of the server; a program that is faster waits.
const LINES_AHEAD: usize = 256;

/// What runs for each job.
pub(super) struct Program {
    pub(super) command: Vec<String>,
    /// Exit codes after which another attempt may help.
    pub(super) retry_on: Vec<u8>,
    pub(super) client: Client,
    pub(super) told: watch::Receiver<Order>,
}

/// The program's process group. Whoever drops it kills the group, unless its leader has ended.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id.cast_signed())))
    }

    /// That it is gone already is no failure.
    fn send(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

impl Program {
    /// Runs the program for a job. Dropping this kills it: the SDK does so when the job is no longer ours.
    pub(super) async fn attempt(self: Arc<Self>, job: Job<Value>) -> Result<Value, Fail> {
        let name =
            format!("{}  {}  attempt {}", show::short(&job.id), show::plain(&job.job_type), job.attempt);
        output::words(&format!("{name}  begun"));
        let mut told = self.told.clone();
        let (words, ended) = tokio::select! {
            biased;
            ended = self.live(&job) => ended,
            _ = told.wait_for(|order| *order == Order::Kill) => ("released".to_owned(), Err(Fail::release())),
            stop = job.stopped_at_least(Stop::Shutdown) => {
                let words = if stop == Stop::LeaseLost { "ended: its lease is lost" } else { "ended: it is cancelled" };
                (words.to_owned(), Err(Fail::release()))
            }
        };
        output::words(&format!("{name}  {words}"));
        ended
    }

    async fn live(&self, job: &Job<Value>) -> Ended {
        let mut child = match self.spawn(job) {
            Ok(child) => child,
            Err(why) => return not_started(&why),
        };
        let mut group = Group::of(&child);
        let (to, from) = mpsc::channel(LINES_AHEAD);
        let ahead = to.downgrade();
        let feeding = feed(child.stdin.take(), job.payload.to_string());
        let out = lines::read(child.stdout.take(), "stdout", to.clone());
        let err = lines::read(child.stderr.take(), "stderr", to);
        let mut reading = Box::pin(async { tokio::join!(feeding, out, err) });
        let (mut is_read, mut is_asked, mut heard) = (false, false, None);
        let mut hearing = pin!(hear(&self.client, job, from));
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                _ = &mut reading, if !is_read => is_read = true,
                all = &mut hearing, if heard.is_none() => heard = Some(all),
                _ = job.stopped(), if !is_asked => {
                    is_asked = true;
                    group.send(Signal::TERM);
                }
            }
        };
        // What it left behind may hold its pipes open for ever: it is killed, and what is in the pipes is still read.
        let mut is_killed = false;
        while !is_read {
            tokio::select! {
                _ = &mut reading => is_read = true,
                all = &mut hearing, if heard.is_none() => heard = Some(all),
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
        let heard = match heard {
            Some(heard) => heard,
            None => hearing.await,
        };
        match status {
            Ok(status) => self.judge(status, heard, is_asked),
            Err(why) => not_started(&why),
        }
    }

    fn spawn(&self, job: &Job<Value>) -> io::Result<Child> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
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
        command.spawn()
    }

    fn judge(&self, status: ExitStatus, heard: Heard, is_asked: bool) -> Ended {
        let tail = heard.tail();
        let told = |what: &str| if tail.is_empty() { what.to_owned() } else { format!("{what}: {tail}") };
        let (words, fail) = match (status.code(), status.signal()) {
            (Some(0), _) if heard.lost_asset.is_some() => {
                let words = heard.lost_asset.unwrap_or_default();
                return (words.clone(), Err(Fail::permanent("BAD_ASSET", words).stage(Stage::Output)));
            }
            (Some(0), _) => match heard.result {
                None => return ("succeeded".to_owned(), Ok(Value::Null)),
                Some(Ok(result)) => return ("succeeded".to_owned(), Ok(result)),
                Some(Err(why)) => {
                    let words = format!("::result is not JSON: {why}");
                    return (words.clone(), Err(Fail::permanent("BAD_RESULT", words).stage(Stage::Output)));
                }
            },
            _ if is_asked => {
                let fail = match heard.result {
                    Some(Ok(result)) => Fail::cancelled().result(result),
                    _ => Fail::cancelled(),
                };
                return ("cancelled".to_owned(), Err(fail));
            }
            (Some(code), _) => {
                let (name, words) = (format!("EXIT_{code}"), format!("exited with {code}"));
                let is_passing = u8::try_from(code).is_ok_and(|code| self.retry_on.contains(&code));
                let message = told(&words);
                let fail =
                    if is_passing { Fail::transient(name, message) } else { Fail::permanent(name, message) };
                (words, fail)
            }
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                let words = format!("killed by signal {signal}");
                let fail = Fail::transient(format!("SIGNAL_{signal}"), told(&words));
                (words, fail)
            }
        };
        (words, Err(fail.stage(Stage::Exec)))
    }
}

/// How an attempt ended: for whoever watches the worker, and for the server.
type Ended = (String, Result<Value, Fail>);

/// Another attempt may find more room, but not a shorter environment.
fn not_started(why: &io::Error) -> Ended {
    let words = format!("the program cannot be started: {why}");
    let fail = match why.kind() {
        io::ErrorKind::ArgumentListTooLong => Fail::permanent("NOT_STARTED", &words),
        _ => Fail::transient("NOT_STARTED", &words),
    };
    (words, Err(fail.stage(Stage::Exec)))
}

/// A program need not read its payload.
async fn feed(stdin: Option<ChildStdin>, mut payload: String) {
    payload.push('\n');
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(payload.as_bytes()).await;
        let _ = stdin.shutdown().await;
    }
}
