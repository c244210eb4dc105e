//! A job that this worker holds: what its handler says, collected until it can be sent, and the signal to stop.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::sync::{oneshot, watch};

use super::keeper::Keeper;
use super::reporter::{Outgoing, Reporter};
use super::stop::{Alarm, Stop};
use super::text::{self, LINE_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::client::transport::backoff;
use crate::client::{Client, Content, fresh_id};
use crate::error::{Error, Result};
use crate::request::{Holder, NewLine, Report, Verb};
use crate::wire::{Asset, JobRecord};

/// Lines that wait to be sent; more are left out, and a line says how many.
const LINES_MAX: usize = 10_000;
/// What one append may weigh.
const APPEND_BYTES_MAX: usize = 1 << 20;

/// What the worker's thread offers to the jobs.
#[derive(Clone, Debug)]
pub(super) struct Links {
    pub(super) worker: String,
    pub(super) client: Client,
    /// The worker's own runtime: everything that is sent is sent from there.
    pub(super) runtime: tokio::runtime::Handle,
    pub(super) keeper: Keeper,
    pub(super) reporter: Reporter,
}

/// A held job.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) record: JobRecord,
    pub(super) fence: u64,
    pub(super) alarm: Alarm,
    links: Links,
    output: Mutex<Output>,
}

#[derive(Debug, Default)]
struct Output {
    lines: VecDeque<NewLine>,
    left_out: usize,
    progress: Option<Report>,
    /// Whether someone is sending; whoever finds it false and has something to send becomes that one.
    sending: bool,
    /// The last word; nothing is taken after it.
    ended: bool,
    last: Option<Outgoing>,
}

/// Counts one job among those that are not done with; dropped when its last word was answered or there is none.
#[derive(Debug)]
pub(super) struct Live(watch::Sender<usize>);

impl Live {
    pub(super) fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Held {
    pub(super) fn new(record: JobRecord, fence: u64, links: Links) -> Arc<Self> {
        Arc::new(Self { record, fence, alarm: Alarm::default(), links, output: Mutex::default() })
    }

    pub(super) fn progress(self: &Arc<Self>, percent: u8, message: &str) {
        let mut report = Report::new(&*self.record.id, self.fence, Verb::Progress)
            .with("progress", json!(percent.min(100)));
        if !message.is_empty() {
            report = report.with("message", json!(text::cut(message, MESSAGE_BYTES_MAX)));
        }
        self.say(|output| output.progress = Some(report));
    }

    pub(super) fn log(self: &Arc<Self>, stream: &str, level: &str, line: &str) {
        let pieces = text::pieces(line, LINE_BYTES_MAX);
        self.say(|output| {
            for text in pieces {
                if output.lines.len() < LINES_MAX {
                    output.lines.push_back(NewLine {
                        stream: stream.to_owned(),
                        level: level.to_owned(),
                        text,
                    });
                } else {
                    output.left_out += 1;
                }
            }
        });
    }

    /// Uploads an asset, again and again until the server has answered or the lease is gone.
    pub(super) async fn upload(&self, named: (&str, &str), content: Content) -> Result<Asset> {
        let holder = Holder { worker: self.links.worker.clone(), fence: self.fence };
        let (client, job) = (self.links.client.clone(), self.record.id.clone());
        let (key, mut tries) = (fresh_id(), 0);
        loop {
            let (client, job, holder, key) = (client.clone(), job.clone(), holder.clone(), key.clone());
            let (asset_type, name, content) = (named.0.to_owned(), named.1.to_owned(), content.clone());
            // Connections belong to the worker's own runtime.
            let upload = self.links.runtime.spawn(async move {
                client.upload_keyed(&job, Some(&holder), (&asset_type, &name), (content, &key)).await
            });
            let uploaded =
                upload.await.unwrap_or_else(|_| Err(Error::Unreachable("the worker ended".into())));
            let wait = match &uploaded {
                Err(error) if error.is_passing() && !self.alarm.now().is_some_and(Stop::is_over) => {
                    tries += 1;
                    error.retry_after().unwrap_or_else(|| backoff(tries))
                }
                Ok(_) | Err(_) => return uploaded,
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// The last word about the job: sent after everything that was said before. The lease is kept alive until then.
    pub(super) fn end(self: &Arc<Self>, report: Report, live: Live) {
        let last = Outgoing::last(report, live);
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.ended = true;
        if output.sending {
            output.last = Some(last);
            return;
        }
        drop(output);
        self.send_last(last);
    }

    /// There is no last word: the job is out of this worker's hands.
    pub(super) fn abandon(&self) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        *output = Output { ended: true, sending: output.sending, ..Output::default() };
        drop(output);
        self.links.keeper.forget(&self.record.id, self.fence);
    }

    fn say(self: &Arc<Self>, add: impl FnOnce(&mut Output)) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.ended {
            return;
        }
        add(&mut output);
        if !output.sending {
            output.sending = true;
            drop(output);
            self.links.runtime.spawn(self.clone().send());
        }
    }

    /// Sends until there is nothing left, then the last word if it is there.
    async fn send(self: Arc<Self>) {
        loop {
            let (lines, progress) = {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                let (lines, progress) = (output.take_lines(), output.progress.take());
                if lines.is_empty() && progress.is_none() {
                    output.sending = false;
                    let last = output.last.take();
                    drop(output);
                    if let Some(last) = last {
                        self.send_last(last);
                    }
                    return;
                }
                (lines, progress)
            };
            if let Some(progress) = progress {
                let (answered, answer) = oneshot::channel();
                self.links.reporter.send(Outgoing::note(progress, answered));
                // Until then newer progress replaces what is not yet sent.
                let _ = answer.await;
            }
            if !lines.is_empty() {
                self.append(&lines).await;
            }
        }
    }

    /// Appends lines, again and again until the server has answered or the lease is gone.
    async fn append(&self, lines: &[NewLine]) {
        let holder = Holder { worker: self.links.worker.clone(), fence: self.fence };
        let (key, mut tries) = (fresh_id(), 0);
        while !self.alarm.now().is_some_and(Stop::is_over) {
            let appended = self.links.client.append_keyed(&self.record.id, Some(&holder), lines, &key).await;
            let Err(error) = appended else { return };
            if !error.is_passing() {
                let job = &self.record.id;
                tracing::warn!(%job, %error, lines = lines.len(), "log lines were refused and are dropped");
                return;
            }
            tries += 1;
            tokio::time::sleep(error.retry_after().unwrap_or_else(|| backoff(tries))).await;
        }
    }

    fn send_last(&self, last: Outgoing) {
        self.links.keeper.forget(&self.record.id, self.fence);
        if !self.alarm.now().is_some_and(Stop::is_over) {
            self.links.reporter.send(last);
        }
    }
}

impl Output {
    /// As many of the waiting lines as one append may carry.
    fn take_lines(&mut self) -> Vec<NewLine> {
        let mut bytes = 0;
        let fit = self.lines.iter().take_while(|line| {
            bytes += line.text.len() + 64;
            bytes <= APPEND_BYTES_MAX
        });
        let count = fit.count();
        let mut lines: Vec<NewLine> = self.lines.drain(..count).collect();
        if self.lines.is_empty() && self.left_out > 0 {
            let text =
                format!("{} lines came too fast and were left out", std::mem::take(&mut self.left_out));
            lines.push(NewLine { stream: "stderr".into(), level: "warn".into(), text });
        }
        lines
    }
}
