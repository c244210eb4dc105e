//! Reports on their way to the server. All that are there at a moment go together; while they are under way the next
//! ones gather. Each is sent until it has a definite answer.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::held::Live;
use crate::client::Client;
use crate::client::transport::backoff;
use crate::error::{Error, Problem, Result};
use crate::request::{Report, Verb};

const BATCH_MAX: usize = 1000;
/// What one batch may weigh; a server takes several times as much.
const BATCH_BYTES_MAX: usize = 4 << 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Where reports are handed in.
#[derive(Clone, Debug)]
pub(super) struct Reporter(mpsc::UnboundedSender<Outgoing>);

/// One report, written already.
#[derive(Debug)]
pub(super) struct Outgoing {
    job: String,
    fence: u64,
    verb: Verb,
    text: Box<RawValue>,
    /// Whether a refusal may still be answered by failing the attempt, and then whether another may help.
    otherwise: Option<&'static str>,
    live: Option<Live>,
    answered: Option<oneshot::Sender<()>>,
}

impl Reporter {
    /// The reporter and its work, which ends when no one can hand in any more.
    pub(super) fn new(client: Client, worker: String) -> (Self, impl Future<Output = ()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), work(client, worker, receiver))
    }

    pub(super) fn send(&self, outgoing: Outgoing) {
        // Without a receiver the worker has left, and its leases run out.
        let _ = self.0.send(outgoing);
    }
}

impl Outgoing {
    /// The last word about a job.
    pub(super) fn last(report: Report, live: Live) -> Self {
        let otherwise = match report.verb {
            Verb::Release | Verb::CancelConfirm => "transient",
            Verb::Fail if report.body.get("error").is_some_and(|error| error["class"] == "transient") => {
                "transient"
            }
            _ => "permanent",
        };
        Self { otherwise: Some(otherwise), live: Some(live), ..Self::written(report) }
    }

    /// A word that no harm is done without.
    pub(super) fn note(report: Report, answered: oneshot::Sender<()>) -> Self {
        Self { answered: Some(answered), ..Self::written(report) }
    }

    fn written(report: Report) -> Self {
        let text = serde_json::value::to_raw_value(&report).expect("a report is made of JSON");
        let Report { job, fence, verb, body: _ } = report;
        Self { job, fence, verb, text, otherwise: None, live: None, answered: None }
    }

    /// That the attempt failed because its own report was refused.
    fn instead(self, problem: &Problem) -> Option<Self> {
        let class = self.otherwise?;
        let message = format!("the server refused `{}`: {problem}", self.verb.as_str());
        let error =
            json!({ "code": "REPORT_REFUSED", "message": message, "class": class, "stage": "output" });
        let report = Report::new(self.job, self.fence, Verb::Fail).with("error", error);
        Some(Self { live: self.live, ..Self::written(report) })
    }
}

async fn work(client: Client, worker: String, mut inbox: mpsc::UnboundedReceiver<Outgoing>) {
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
        match settle(batch, answer, &mut waiting, &mut size_max) {
            Pause::No => tries = 0,
            Pause::Own => {
                tries += 1;
                tokio::time::sleep(backoff(tries)).await;
            }
            Pause::Told(pause) => tokio::time::sleep(pause).await,
        }
    }
}

/// The first ones, as many as may go together.
fn take_batch(waiting: &mut VecDeque<Outgoing>, size_max: usize) -> Vec<Outgoing> {
    let mut bytes = 0;
    let fit = waiting.iter().take(size_max).take_while(|outgoing| {
        bytes += outgoing.text.get().len();
        bytes <= BATCH_BYTES_MAX
    });
    // One that is too large by itself goes alone.
    let count = fit.count().max(1);
    waiting.drain(..count).collect()
}

/// Whether to wait before the next batch.
enum Pause {
    No,
    /// As long as seems good.
    Own,
    /// As long as the server asked for.
    Told(Duration),
}

impl Pause {
    fn of(retry_after: Option<Duration>) -> Self {
        retry_after.map_or(Self::Own, Self::Told)
    }
}

/// Puts what has no definite answer back to the front, and says whether to wait before it is sent again.
fn settle(
    batch: Vec<Outgoing>,
    answer: Result<Vec<Result<serde_json::Value, Problem>>>,
    waiting: &mut VecDeque<Outgoing>,
    size_max: &mut usize,
) -> Pause {
    let problem = match answer {
        Ok(results) => {
            *size_max = BATCH_MAX;
            return settle_each(batch, results, waiting);
        }
        Err(error) if error.is_passing() => {
            tracing::warn!(%error, reports = batch.len(), "reports wait for the server");
            if error.problem().is_some_and(|problem| problem.status != 503) {
                // One of them may be what the server stumbles over.
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
        // One of them spoils the rest: each goes by itself until one was answered.
        *size_max = 1;
        put_back(batch, waiting);
        return Pause::No;
    }
    let results = batch.iter().map(|_| Err(problem.clone())).collect();
    settle_each(batch, results, waiting)
}

fn settle_each(
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
            tracing::debug!(%job, verb, %problem, "a note was refused");
        } else if problem.is_passing() {
            pause = Pause::of(problem.retry_after);
            again.push(outgoing);
        } else if problem.is_lease_conflict() {
            tracing::warn!(%job, verb, %problem, "the lease was lost before the report");
        } else {
            tracing::error!(%job, verb, %problem, "a report was refused");
            again.extend(outgoing.instead(&problem));
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
