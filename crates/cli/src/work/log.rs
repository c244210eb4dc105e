//! Forwards what a program writes: progress, assets and results to the SDK, all other lines to the job's log. Lines are
//! not appended by the SDK, because a program that is faster than the server must wait instead of losing lines.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_api::CallId;
use tenure_client::{Client, Job, Method};
use tenure_core::limits::LOG_LINE_BYTES_MAX;
use tokio::sync::mpsc::Receiver;

use super::commands::{LineKind, kind_of};
use super::folder::JobFolder;
use super::lines::{Line, LineSource};
use crate::client::fresh_key;

/// The most that one request appends.
const APPEND_BYTES_MAX: usize = 1 << 20;
const APPEND_LINES_MAX: usize = 500;
/// The last lines of stderr are part of the error message.
const TAIL_LINES: usize = 10;
const TAIL_LINE_CHARS: usize = 500;
/// How much of an invalid command is shown.
const INVALID_CHARS: usize = 200;
const DELAY_MAX: Duration = Duration::from_secs(5);

/// The part of the output that decides how the attempt ended.
#[derive(Debug, Default)]
pub(super) struct ProgramOutput {
    /// The last result, or why it is invalid.
    pub(super) result: Option<Result<Value, String>>,
    /// Why an asset could not be stored.
    pub(super) failed_asset: Option<String>,
    stderr_tail: VecDeque<String>,
}

impl ProgramOutput {
    /// The last lines of stderr.
    pub(super) fn last_errors(&self) -> String {
        self.stderr_tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn keep(&mut self, line: &Line) {
        if line.source == LineSource::Stderr {
            if self.stderr_tail.len() == TAIL_LINES {
                self.stderr_tail.pop_front();
            }
            self.stderr_tail.push_back(line.text.chars().take(TAIL_LINE_CHARS).collect());
        }
    }
}

/// Forwards lines until the output has ended and everything has been sent.
pub(super) async fn forward(
    client: &Client,
    job: &Job<Value>,
    folder: &JobFolder,
    mut from: Receiver<Line>,
) -> ProgramOutput {
    let (mut output, mut lines) = (ProgramOutput::default(), Vec::new());
    while from.recv_many(&mut lines, APPEND_LINES_MAX).await > 0 {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for line in lines.drain(..) {
            match kind_of(&line) {
                LineKind::Progress(percent, message) => job.progress(percent, message),
                LineKind::Result(result) => output.result = Some(result),
                LineKind::Asset { asset_type, file } => {
                    if let Err(error) = store(job, asset_type, folder, Path::new(file)).await {
                        let text = format!("cannot store the asset {file}: {error}");
                        rows.extend(log_rows(LineSource::Stderr, &text));
                        output.failed_asset = Some(text);
                    }
                }
                LineKind::Invalid => {
                    let text: String = line.text.chars().take(INVALID_CHARS).collect();
                    rows.extend(log_rows(LineSource::Stderr, &format!("not a command: {text}")));
                }
                LineKind::Rest => {}
                LineKind::Log => {
                    output.keep(&line);
                    bytes += line.text.len();
                    rows.extend(log_rows(line.source, &line.text));
                    if bytes >= APPEND_BYTES_MAX {
                        append(client, job, std::mem::take(&mut rows)).await;
                        bytes = 0;
                    }
                }
            }
        }
        append(client, job, rows).await;
    }
    output
}

/// Uploads a file of the job's folder under its name.
async fn store(job: &Job<Value>, asset_type: &str, folder: &JobFolder, file: &Path) -> Result<(), String> {
    let opened = folder.open(file)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    job.asset_of_type(asset_type, &name, opened).await.map(drop).map_err(|error| error.to_string())
}

/// A line as rows of the log: replaced bytes may have made it too long for one.
fn log_rows(source: LineSource, text: &str) -> Vec<Value> {
    let (stream, level) = if source == LineSource::Stderr { ("stderr", "error") } else { ("stdout", "info") };
    let (mut rows, mut rest) = (Vec::new(), text);
    loop {
        let (text, more) = rest.split_at(rest.floor_char_boundary(LOG_LINE_BYTES_MAX));
        rows.push(json!({ "stream": stream, "level": level, "text": text }));
        if more.is_empty() {
            return rows;
        }
        rest = more;
    }
}

/// Appends to the log and retries while the server is unreachable, until the lease is lost and this future is dropped.
async fn append(client: &Client, job: &Job<Value>, rows: Vec<Value>) {
    if rows.is_empty() {
        return;
    }
    let (path, key) = (CallId::AppendJobLogs.call().path_of(&[&job.id]), fresh_key());
    let body = json!({ "worker": job.record().worker, "fence": job.fence, "lines": rows });
    let mut delay = Duration::from_millis(200);
    while let Err(error) = client.call_keyed(Method::POST, &path, &body, &key).await {
        if !error.is_retryable() {
            crate::output::message(&format!("{}: the server refused log lines: {error}", job.id));
            return;
        }
        tokio::time::sleep(error.retry_after().unwrap_or(delay)).await;
        delay = (delay * 2).min(DELAY_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(source: LineSource, text: &str) -> Line {
        Line { source, text: text.to_owned(), is_first: true, is_last: true }
    }

    #[test]
    fn the_last_lines_of_stderr_are_kept() {
        let mut output = ProgramOutput::default();
        for n in 0..20 {
            output.keep(&line(LineSource::Stderr, &n.to_string()));
            output.keep(&line(LineSource::Stdout, "not this"));
        }
        assert_eq!(output.last_errors(), "10\n11\n12\n13\n14\n15\n16\n17\n18\n19");
    }
}
