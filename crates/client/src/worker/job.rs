//! What a handler gets: its payload, what identifies the attempt, and a way to be heard and to be stopped.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fail::{Fail, Stage};
use super::held::Held;
use super::stop::Stop;
use crate::client::Content;
use crate::error::Result;
use crate::request::{Report, Verb};
use crate::wire::{Asset, JobRecord};

/// A job in the hands of its handler.
#[derive(Clone, Debug)]
pub struct Job<P = Value> {
    /// What the job is about.
    pub payload: P,
    /// Its id: the same in every attempt.
    pub id: String,
    /// Its type.
    pub job_type: String,
    /// The lifecycle that it follows.
    pub lifecycle: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The number of this lease: it only grows, so whoever has seen a higher one can turn this one away.
    pub fence: u64,
    /// Where an attempt before this one stopped, if it said so.
    pub checkpoint: Option<Value>,
    /// What the job belongs to.
    pub correlation_id: Option<String>,
    /// The W3C trace context to continue.
    pub traceparent: Option<String>,
    held: Arc<Held>,
}

impl<P> Job<P> {
    /// Everything that the server told about the job when it was claimed.
    pub fn record(&self) -> &JobRecord {
        &self.held.record
    }

    /// Tells how far the work is, from 0 to 100. Does not wait; what is not sent yet is replaced.
    pub fn progress(&self, percent: u8, message: impl AsRef<str>) {
        self.held.progress(percent, message.as_ref());
    }

    /// Adds a line to the job's log. Does not wait.
    pub fn log(&self, line: impl AsRef<str>) {
        self.held.log("stdout", "info", line.as_ref());
    }

    /// Adds a line to the job's log, on this stream (such as `stderr`) and of this level (such as `error`).
    pub fn log_to(&self, stream: &str, level: &str, line: impl AsRef<str>) {
        self.held.log(stream, level, line.as_ref());
    }

    /// Uploads an asset under a file name, and waits until it is stored. Its type is the name's extension, or `file`.
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
        self.held.upload((asset_type, name), content.into()).await
    }

    /// Waits until the handler should stop, and says why. May be asked any number of times.
    pub async fn stopped(&self) -> Stop {
        self.held.alarm.raised(Stop::SoftCancel).await
    }

    /// Waits until the handler should stop for this reason or a graver one, as `Stop` orders them.
    pub async fn stopped_at_least(&self, stop: Stop) -> Stop {
        self.held.alarm.raised(stop).await
    }

    /// Whether the handler should stop.
    pub fn is_stopped(&self) -> bool {
        self.stop_cause().is_some()
    }

    /// Why the handler should stop, if it should.
    pub fn stop_cause(&self) -> Option<Stop> {
        self.held.alarm.now()
    }
}

impl<P: DeserializeOwned> Job<P> {
    fn read(held: &Arc<Held>) -> Result<Self, Fail> {
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

/// A handler of any payload and result: gives the last word about the job.
pub(super) type Handler = Arc<dyn Fn(Arc<Held>) -> BoxFuture<'static, Report> + Send + Sync>;

/// Makes handlers of different types one: reads the payload, catches a panic, writes the result.
pub(super) fn erased<P, R, F, W>(handler: F) -> Handler
where
    P: DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Fn(Job<P>) -> W + Send + Sync + 'static,
    W: Future<Output = Result<R, Fail>> + Send,
{
    let handler = Arc::new(handler);
    Arc::new(move |held| {
        let handler = handler.clone();
        Box::pin(async move {
            let work = async {
                let result = handler(Job::read(&held)?).await?;
                serde_json::to_value(result)
                    .map_err(|why| Fail::permanent("BAD_RESULT", why).stage(Stage::Output))
            };
            let ended = AssertUnwindSafe(work).catch_unwind().await;
            let ended = ended.unwrap_or_else(|panic| Err(panicked(&*panic)));
            match ended {
                Ok(Value::Null) => Report::new(&*held.record.id, held.fence, Verb::Succeed),
                Ok(result) => {
                    Report::new(&*held.record.id, held.fence, Verb::Succeed).with("result", json!(result))
                }
                Err(fail) => fail.into_report(&held.record.id, held.fence),
            }
        })
    })
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Fail {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fail::transient("HANDLER_PANIC", text.unwrap_or("the handler panicked")).stage(Stage::Exec)
}
