//! Sends reports to the server in batches: all that wait are sent together. Each is sent until it has a definite answer.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::held_job::OpenJob;
use crate::client::Client;
use crate::client::transport::backoff;
use crate::error::{Error, Problem, Result};
use crate::request::{Report, Verb};

const BATCH_MAX: usize = 1000;
/// Size limit of one batch; a server accepts several times as much.
const BATCH_BYTES_MAX: usize = 4 << 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Handle of the task that sends reports.
#[derive(Clone, Debug)]
pub(super) struct Reporter(mpsc::UnboundedSender<Outgoing>);

/// A serialized report.
#[derive(Debug)]
pub(super) struct Outgoing {
    job: String,
    fence: u64,
    verb: Verb,
    text: Box<RawValue>,
    /// If the report is refused, the attempt is failed with this class.
    failure_class: Option<&'static str>,
    open: Option<OpenJob>,
    answered: Option<oneshot::Sender<()>>,
}

impl Reporter {
    /// The handle and its task, which ends when all handles are dropped.
    pub(super) fn new(client: Client, worker: String) -> (Self, impl Future<Output = ()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), run(client, worker, receiver))
    }

    pub(super) fn send(&self, outgoing: Outgoing) {
        // Without a receiver the worker has stopped, and its leases expire.
        let _ = self.0.send(outgoing);
    }
}

impl Outgoing {
    /// The report that ends a job.
    pub(super) fn final_report(report: Report, open: OpenJob) -> Self {
        let failure_class = match report.verb {
            Verb::Release | Verb::CancelConfirm => "transient",
            Verb::Fail if report.body.get("error").is_some_and(|error| error["class"] == "transient") => {
                "transient"
            }
            _ => "permanent",
        };
        Self { failure_class: Some(failure_class), open: Some(open), ..Self::serialized(report) }
    }

    /// Progress: dropped if it is refused.
    pub(super) fn progress(report: Report, answered: oneshot::Sender<()>) -> Self {
        Self { answered: Some(answered), ..Self::serialized(report) }
    }

    fn serialized(report: Report) -> Self {
        let text = serde_json::value::to_raw_value(&report).expect("a report is serializable");
        let Report { job, fence, verb, body: _ } = report;
        Self { job, fence, verb, text, failure_class: None, open: None, answered: None }
    }

    /// The failure of the attempt because its report was refused.
    fn into_failure(self, problem: &Problem) -> Option<Self> {
        let class = self.failure_class?;
        let message = format!("the server refused `{}`: {problem}", self.verb.as_str());
        let error =
            json!({ "code": "REPORT_REFUSED", "message": message, "class": class, "stage": "output" });
        let report = Report::new(self.job, self.fence, Verb::Fail).with("error", error);
        Some(Self { open: self.open, ..Self::serialized(report) })
    }
}

async fn run(client: Client, worker: String, mut inbox: mpsc::UnboundedReceiver<Outgoing>) {
    let mut waiting: VecDeque<Outgoing> = VecDeque::new();
    let (mut tries, mut size_max) = (0, BATCH_MAX);
    loop {
        if waiting.is_empty() {
            let Some(first) = inbox.recv().await else { return };
            waiting.push_back(first);
        }
        while let Ok(next) = inbox.try_recv() {
            waiting.push_back(next);
        }
        let batch = take_batch(&mut waiting, size_max);
        let texts: Vec<&RawValue> = batch.iter().map(|outgoing| &*outgoing.text).collect();
        let answer = client.reports_within(&worker, &texts, TIMEOUT).await;
        match handle_answer(batch, answer, &mut waiting, &mut size_max) {
            Pause::No => tries = 0,
            Pause::Backoff => {
                tries += 1;
                tokio::time::sleep(backoff(tries)).await;
            }
            Pause::RetryAfter(pause) => tokio::time::sleep(pause).await,
        }
    }
}

/// The first waiting reports, as many as fit into one batch.
fn take_batch(waiting: &mut VecDeque<Outgoing>, size_max: usize) -> Vec<Outgoing> {
    let mut bytes = 0;
    let fit = waiting.iter().take(size_max).take_while(|outgoing| {
        bytes += outgoing.text.get().len();
        bytes <= BATCH_BYTES_MAX
    });
    // A report over the size limit is sent alone.
    let count = fit.count().max(1);
    waiting.drain(..count).collect()
}

/// The pause before the next batch.
enum Pause {
    No,
    Backoff,
    /// As the server requested.
    RetryAfter(Duration),
}

impl Pause {
    fn of(retry_after: Option<Duration>) -> Self {
        retry_after.map_or(Self::Backoff, Self::RetryAfter)
    }
}

/// Puts reports without a definite answer back to the front, and returns the pause before they are sent again.
fn handle_answer(
    batch: Vec<Outgoing>,
    answer: Result<Vec<Result<serde_json::Value, Problem>>>,
    waiting: &mut VecDeque<Outgoing>,
    size_max: &mut usize,
) -> Pause {
    let problem = match answer {
        Ok(results) => {
            *size_max = BATCH_MAX;
            return handle_results(batch, results, waiting);
        }
        Err(error) if error.is_retryable() => {
            tracing::warn!(%error, reports = batch.len(), "reports not answered");
            if error.problem().is_some_and(|problem| problem.status != 503) {
                // One of them may cause the error: send each alone.
                *size_max = 1;
            }
            put_back(batch, waiting);
            return Pause::of(error.retry_after());
        }
        Err(Error::Refused(problem)) => problem,
        Err(error) => {
            let extra = serde_json::Map::new();
            let (code, title) = ("protocol".to_owned(), error.to_string());
            Problem { status: 0, code, title, detail: None, retry_after: None, extra }
        }
    };
    if batch.len() > 1 {
        // One of them makes the server refuse the batch: send each alone until one is answered.
        *size_max = 1;
        put_back(batch, waiting);
        return Pause::No;
    }
    let results = batch.iter().map(|_| Err(problem.clone())).collect();
    handle_results(batch, results, waiting)
}

fn handle_results(
    batch: Vec<Outgoing>,
    results: Vec<Result<serde_json::Value, Problem>>,
    waiting: &mut VecDeque<Outgoing>,
) -> Pause {
    let mut again = Vec::new();
    let mut pause = Pause::No;
    for (outgoing, result) in batch.into_iter().zip(results) {
        let Err(problem) = result else { continue };
        let (job, verb) = (&outgoing.job, outgoing.verb.as_str());
        if outgoing.answered.is_some() {
            tracing::debug!(%job, verb, %problem, "progress refused");
        } else if problem.is_retryable() {
            pause = Pause::of(problem.retry_after);
            again.push(outgoing);
        } else if problem.is_lease_conflict() {
            tracing::warn!(%job, verb, %problem, "report refused: lease lost");
        } else {
            tracing::error!(%job, verb, %problem, "report refused");
            again.extend(outgoing.into_failure(&problem));
        }
    }
    put_back(again, waiting);
    pause
}

fn put_back(batch: Vec<Outgoing>, waiting: &mut VecDeque<Outgoing>) {
    for outgoing in batch.into_iter().rev() {
        waiting.push_front(outgoing);
    }
}
