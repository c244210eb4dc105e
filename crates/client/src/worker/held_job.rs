//! A job that this worker holds: collects the handler's log lines and progress until they are sent, and carries the stop
//! signal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::sync::{oneshot, watch};

use super::lease_keeper::LeaseKeeper;
use super::reporter::{Outgoing, Reporter};
use super::stop::{Stop, StopSignal};
use super::text::{self, LINE_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::client::transport::backoff;
use crate::client::{Client, Content, fresh_id};
use crate::error::{Error, Result};
use crate::request::{Holder, NewLine, Report, Verb};
use tenure_api::{Asset, JobRecord};

/// Queued lines; more are dropped, and a line says how many.
const LINES_MAX: usize = 10_000;
/// Limits of one append: half of the lines that the server accepts, so that the line about dropped ones fits too.
const APPEND_LINES_MAX: usize = 5_000;
const APPEND_BYTES_MAX: usize = 1 << 20;

/// What jobs need of the worker's thread.
#[derive(Clone, Debug)]
pub(super) struct WorkerHandles {
    pub(super) worker: String,
    pub(super) client: Client,
    /// The runtime of the worker's thread: all requests are sent from there.
    pub(super) runtime: tokio::runtime::Handle,
    pub(super) lease_keeper: LeaseKeeper,
    pub(super) reporter: Reporter,
}

#[derive(Debug)]
pub(super) struct HeldJob {
    pub(super) record: JobRecord,
    pub(super) fence: u64,
    pub(super) stop_signal: StopSignal,
    handles: WorkerHandles,
    output: Mutex<OutputQueue>,
}

#[derive(Debug, Default)]
struct OutputQueue {
    lines: VecDeque<NewLine>,
    dropped: usize,
    progress: Option<Report>,
    /// A task is sending; if not, the next caller with output starts one.
    sending: bool,
    /// The job has ended; later output is dropped.
    ended: bool,
    final_report: Option<Outgoing>,
}

/// Counts a job as open until its final report is answered.
#[derive(Debug)]
pub(super) struct OpenJob(watch::Sender<usize>);

impl OpenJob {
    pub(super) fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for OpenJob {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl HeldJob {
    pub(super) fn new(record: JobRecord, fence: u64, handles: WorkerHandles) -> Arc<Self> {
        let (stop_signal, output) = (StopSignal::default(), Mutex::default());
        Arc::new(Self { record, fence, stop_signal, handles, output })
    }

    pub(super) fn progress(self: &Arc<Self>, percent: u8, message: &str) {
        let mut report = Report::new(&*self.record.id, self.fence, Verb::Progress)
            .with("progress", json!(percent.min(100)));
        if !message.is_empty() {
            report = report.with("message", json!(text::truncate(message, MESSAGE_BYTES_MAX)));
        }
        self.queue(|output| output.progress = Some(report));
    }

    pub(super) fn log(self: &Arc<Self>, stream: &str, level: &str, line: &str) {
        let chunks = text::chunks(line, LINE_BYTES_MAX);
        let (stream, level) = (text::name_or(stream, "stdout"), text::name_or(level, "info"));
        self.queue(|output| {
            for text in chunks {
                if output.lines.len() < LINES_MAX {
                    let (stream, level) = (Some(stream.to_owned()), Some(level.to_owned()));
                    output.lines.push_back(NewLine { stream, level, text });
                } else {
                    output.dropped += 1;
                }
            }
        });
    }

    /// Uploads an asset; retries until the server answers or the lease is lost.
    pub(super) async fn upload(&self, asset_type: &str, name: &str, content: Content) -> Result<Asset> {
        let holder = Holder { worker: self.handles.worker.clone(), fence: self.fence };
        let (client, job) = (self.handles.client.clone(), self.record.id.clone());
        let (key, mut tries) = (fresh_id(), 0);
        loop {
            let (client, job, holder, key) = (client.clone(), job.clone(), holder.clone(), key.clone());
            let (asset_type, name, content) = (asset_type.to_owned(), name.to_owned(), content.clone());
            // Connections belong to the runtime of the worker's thread.
            let upload = self.handles.runtime.spawn(async move {
                client.upload_keyed(&job, Some(&holder), &asset_type, &name, content, &key).await
            });
            let uploaded =
                upload.await.unwrap_or_else(|_| Err(Error::Unreachable("the worker ended".into())));
            match &uploaded {
                Err(error) if error.is_retryable() && !self.is_lost() => {
                    tries += 1;
                    tokio::time::sleep(error.retry_after().unwrap_or_else(|| backoff(tries))).await;
                }
                Ok(_) | Err(_) => return uploaded,
            }
        }
    }

    /// Ends the job: the report is sent after all queued output, and the lease is renewed until then.
    pub(super) fn end(self: &Arc<Self>, report: Report, open: OpenJob) {
        let report = Outgoing::final_report(report, open);
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.ended = true;
        if output.sending {
            output.final_report = Some(report);
            return;
        }
        drop(output);
        self.send_final(report);
    }

    /// Ends the job without a report: its lease is lost or it was cancelled.
    pub(super) fn abandon(&self) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        *output = OutputQueue { ended: true, sending: output.sending, ..OutputQueue::default() };
        drop(output);
        self.handles.lease_keeper.remove(&self.record.id, self.fence);
    }

    /// The lease is lost or the job is cancelled.
    pub(super) fn is_lost(&self) -> bool {
        self.stop_signal.now().is_some_and(Stop::is_over)
    }

    fn queue(self: &Arc<Self>, add: impl FnOnce(&mut OutputQueue)) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.ended {
            return;
        }
        add(&mut output);
        if !output.sending {
            output.sending = true;
            drop(output);
            self.handles.runtime.spawn(self.clone().send());
        }
    }

    /// Sends until the queue is empty, then the final report if there is one.
    async fn send(self: Arc<Self>) {
        loop {
            let (lines, progress) = {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                let (lines, progress) = (output.take_lines(), output.progress.take());
                if lines.is_empty() && progress.is_none() {
                    output.sending = false;
                    let report = output.final_report.take();
                    drop(output);
                    if let Some(report) = report {
                        self.send_final(report);
                    }
                    return;
                }
                (lines, progress)
            };
            if let Some(progress) = progress {
                let (answered, answer) = oneshot::channel();
                self.handles.reporter.send(Outgoing::progress(progress, answered));
                // Meanwhile newer progress replaces what is queued.
                let _ = answer.await;
            }
            if !lines.is_empty() {
                self.append(&lines).await;
            }
        }
    }

    /// Appends lines; retries until the server answers or the lease is lost.
    async fn append(&self, lines: &[NewLine]) {
        let holder = Holder { worker: self.handles.worker.clone(), fence: self.fence };
        let (key, mut tries) = (fresh_id(), 0);
        while !self.is_lost() {
            let appended =
                self.handles.client.append_keyed(&self.record.id, Some(&holder), lines, &key).await;
            let Err(error) = appended else { return };
            if !error.is_retryable() {
                let job = &self.record.id;
                tracing::warn!(%job, %error, lines = lines.len(), "log lines refused and dropped");
                return;
            }
            tries += 1;
            tokio::time::sleep(error.retry_after().unwrap_or_else(|| backoff(tries))).await;
        }
    }

    fn send_final(&self, report: Outgoing) {
        self.handles.lease_keeper.remove(&self.record.id, self.fence);
        if !self.is_lost() {
            self.handles.reporter.send(report);
        }
    }
}

impl OutputQueue {
    /// As many queued lines as fit into one append.
    fn take_lines(&mut self) -> Vec<NewLine> {
        let mut bytes = 0;
        let fit = self.lines.iter().take(APPEND_LINES_MAX).take_while(|line| {
            bytes += line.text.len() + 64;
            bytes <= APPEND_BYTES_MAX
        });
        let count = fit.count();
        let mut lines: Vec<NewLine> = self.lines.drain(..count).collect();
        if self.lines.is_empty() && self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            let text = format!("{dropped} lines were dropped: the queue was full");
            lines.push(NewLine { stream: Some("stderr".into()), level: Some("warn".into()), text });
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_is_sent_in_appends_that_the_server_accepts() {
        let line = NewLine { stream: None, level: None, text: "x".into() };
        let lines = std::iter::repeat_n(line, LINES_MAX).collect();
        let mut output = OutputQueue { lines, dropped: 7, ..OutputQueue::default() };
        let appends = [output.take_lines(), output.take_lines(), output.take_lines()];
        assert_eq!(appends.each_ref().map(Vec::len), [APPEND_LINES_MAX, APPEND_LINES_MAX + 1, 0]);
        let last = appends[1].last().map(|line| line.text.as_str());
        assert_eq!(last, Some("7 lines were dropped: the queue was full"));
    }
}
