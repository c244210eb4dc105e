//! What a handler gets: the payload, the attempt's ids, and methods for progress, logs, assets and the stop signal.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fail::{Fail, Stage};
use super::held_job::HeldJob;
use super::stop::Stop;
use crate::client::Content;
use crate::error::Result;
use crate::request::{Report, Verb};
use tenure_api::{Asset, JobRecord};

/// A job, as its handler gets it.
#[derive(Clone, Debug)]
pub struct Job<P = Value> {
    pub payload: P,
    /// The id, the same in every attempt.
    pub id: String,
    pub job_type: String,
    /// The name of its lifecycle.
    pub lifecycle: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The number of this lease. It only grows: a system that has seen a higher one can reject this one.
    pub fence: u64,
    /// The checkpoint of the previous attempt, if it set one.
    pub checkpoint: Option<Value>,
    /// The correlation id of the job.
    pub correlation_id: Option<String>,
    /// The W3C trace context to continue.
    pub traceparent: Option<String>,
    held: Arc<HeldJob>,
}

impl<P> Job<P> {
    /// The job as the server returned it to the claim.
    pub fn record(&self) -> &JobRecord {
        &self.held.record
    }

    /// Reports progress from 0 to 100. Does not wait; replaces progress that is not sent yet.
    pub fn progress(&self, percent: u8, message: impl AsRef<str>) {
        self.held.progress(percent, message.as_ref());
    }

    /// Adds a line to the job's log. Does not wait.
    pub fn log(&self, line: impl AsRef<str>) {
        self.held.log("stdout", "info", line.as_ref());
    }

    /// Adds a line to the job's log, with a stream such as `stderr` and a level such as `error`.
    pub fn log_to(&self, stream: &str, level: &str, line: impl AsRef<str>) {
        self.held.log(stream, level, line.as_ref());
    }

    /// Uploads an asset and waits until it is stored. Its type is the extension of the name, or `file`.
    pub async fn asset(&self, name: &str, content: impl Into<Content>) -> Result<Asset> {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension).filter(|it| !it.is_empty());
        self.asset_of_type(extension.unwrap_or("file"), name, content).await
    }

    /// Uploads an asset of this type.
    pub async fn asset_of_type(
        &self,
        asset_type: &str,
        name: &str,
        content: impl Into<Content>,
    ) -> Result<Asset> {
        self.held.upload(asset_type, name, content.into()).await
    }

    /// Waits until the handler should stop, and returns why. May be called any number of times.
    pub async fn stopped(&self) -> Stop {
        self.held.stop_signal.wait_for(Stop::SoftCancel).await
    }

    /// Waits until the handler should stop for this reason or a stronger one, in the order of [`Stop`].
    pub async fn stopped_at_least(&self, stop: Stop) -> Stop {
        self.held.stop_signal.wait_for(stop).await
    }

    /// Whether the handler should stop.
    pub fn is_stopped(&self) -> bool {
        self.stop_cause().is_some()
    }

    /// Why the handler should stop, if it should.
    pub fn stop_cause(&self) -> Option<Stop> {
        self.held.stop_signal.now()
    }
}

impl<P: DeserializeOwned> Job<P> {
    fn read(held: &Arc<HeldJob>) -> Result<Self, Fail> {
        let record = &held.record;
        let payload = P::deserialize(&record.payload)
            .map_err(|why| Fail::permanent("BAD_PAYLOAD", why).stage(Stage::Input))?;
        Ok(Self {
            payload,
            id: record.id.clone(),
            job_type: record.job_type.clone(),
            lifecycle: record.lifecycle.clone(),
            attempt: record.attempt,
            fence: held.fence,
            checkpoint: record.checkpoint.clone(),
            correlation_id: record.correlation_id.clone(),
            traceparent: record.traceparent.clone(),
            held: held.clone(),
        })
    }
}

/// Runs the jobs of a group, or one job.
type RunGroup = dyn Fn(Vec<Arc<HeldJob>>) -> BoxFuture<'static, Vec<Report>> + Send + Sync;

/// A handler of any payload and result: it gets the jobs of a group, or one job, and returns a final report for each.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) is_batch: bool,
    run: Arc<RunGroup>,
}

impl Handler {
    /// Wraps a handler: parses the payloads, catches panics, serializes the results.
    fn new<P, R, F, W>(is_batch: bool, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(Vec<Job<P>>) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Vec<Result<R, Fail>>, Fail>> + Send,
    {
        let handler = Arc::new(handler);
        let run = move |group: Vec<Arc<HeldJob>>| -> BoxFuture<'static, Vec<Report>> {
            let handler = handler.clone();
            Box::pin(async move {
                let endings = endings(&*handler, &group).await;
                group.iter().zip(endings).map(|(held, ending)| report(held, ending)).collect()
            })
        };
        Self { is_batch, run: Arc::new(run) }
    }

    pub(super) fn run(&self, jobs: Vec<Arc<HeldJob>>) -> BoxFuture<'static, Vec<Report>> {
        (self.run)(jobs)
    }
}

/// A handler of one job.
pub(super) fn type_erased<P, R, F, W>(handler: F) -> Handler
where
    P: DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Fn(Job<P>) -> W + Send + Sync + 'static,
    W: Future<Output = Result<R, Fail>> + Send,
{
    Handler::new(false, move |mut jobs: Vec<Job<P>>| {
        let work = handler(jobs.pop().expect("a handler is called with a job"));
        async move {
            let ending = work.await;
            Ok::<_, Fail>(vec![ending])
        }
    })
}

/// A handler of groups.
pub(super) fn type_erased_batch<P, R, F, W>(handler: F) -> Handler
where
    P: DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Fn(Vec<Job<P>>) -> W + Send + Sync + 'static,
    W: Future<Output = Result<Vec<Result<R, Fail>>, Fail>> + Send,
{
    Handler::new(true, handler)
}

/// Calls the handler with the jobs whose payload can be read. A failure of the call is that of all of them.
async fn endings<P, R, F, W>(handler: &F, group: &[Arc<HeldJob>]) -> Vec<Result<Value, Fail>>
where
    P: DeserializeOwned,
    R: Serialize,
    F: Fn(Vec<Job<P>>) -> W,
    W: Future<Output = Result<Vec<Result<R, Fail>>, Fail>>,
{
    let (mut jobs, mut unreadable) = (Vec::new(), Vec::new());
    for held in group {
        match Job::read(held) {
            Ok(job) => {
                jobs.push(job);
                unreadable.push(None);
            }
            Err(fail) => unreadable.push(Some(fail)),
        }
    }
    let count = jobs.len();
    let ended = if count == 0 {
        Ok(Ok(Vec::new()))
    } else {
        let work = async move { handler(jobs).await };
        AssertUnwindSafe(work).catch_unwind().await
    };
    let results: Vec<Result<Value, Fail>> = match ended.unwrap_or_else(|panic| Err(panicked(&*panic))) {
        Ok(results) if results.len() == count => results.into_iter().map(to_json).collect(),
        Ok(results) => vec![Err(another_number(results.len(), count)); count],
        Err(fail) => vec![Err(fail); count],
    };
    let mut results = results.into_iter();
    let ending = |unreadable: Option<Fail>| match unreadable {
        Some(fail) => Err(fail),
        None => results.next().expect("there is a result for each job that could be read"),
    };
    unreadable.into_iter().map(ending).collect()
}

fn to_json(result: Result<impl Serialize, Fail>) -> Result<Value, Fail> {
    serde_json::to_value(result?).map_err(|why| Fail::permanent("BAD_RESULT", why).stage(Stage::Output))
}

fn another_number(results: usize, jobs: usize) -> Fail {
    let why = format!("a batch handler returned {results} results for {jobs} jobs");
    Fail::permanent("BAD_RESULT", why).stage(Stage::Output)
}

fn report(held: &HeldJob, ending: Result<Value, Fail>) -> Report {
    let report = Report::new(&*held.record.id, held.fence, Verb::Succeed);
    match ending {
        Ok(Value::Null) => report,
        Ok(result) => report.with("result", result),
        Err(fail) => fail.into_report(&held.record.id, held.fence),
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Fail {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fail::transient("HANDLER_PANIC", text.unwrap_or("the handler panicked")).stage(Stage::Exec)
}
