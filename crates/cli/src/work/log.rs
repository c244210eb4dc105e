//! Forwards a program's output: progress, assets and results to the SDK, all other lines to the job's log. Lines are
//! not appended by the SDK, because a program that is faster than the server must wait instead of losing lines.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_api::CallId;
use tenure_client::{Client, Job, Method};
use tenure_core::limits::LOG_LINE_BYTES_MAX;
use tokio::sync::mpsc::Receiver;

use super::lines::{Line, RESULT};
use crate::client::fresh_key;

/// The most that one request appends.
const APPEND_BYTES_MAX: usize = 1 << 20;
const APPEND_LINES_MAX: usize = 500;
/// The last lines of stderr are part of the error message.
const TAIL_LINES: usize = 10;
const TAIL_LINE_CHARS: usize = 500;
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
        if line.stream == "stderr" {
            if self.stderr_tail.len() == TAIL_LINES {
                self.stderr_tail.pop_front();
            }
            self.stderr_tail.push_back(line.text.chars().take(TAIL_LINE_CHARS).collect());
        }
    }
}

/// What a line is for.
#[derive(Debug, PartialEq)]
enum LineKind<'l> {
    Progress(u8, &'l str),
    Result(Result<Value, String>),
    Asset { asset_type: &'l str, file: &'l str },
    Log,
}

fn kind_of(line: &Line) -> LineKind<'_> {
    if !line.is_first {
        return LineKind::Log;
    }
    if let Some(json) = line.text.strip_prefix(RESULT) {
        return LineKind::Result(serde_json::from_str(json).map_err(|error| error.to_string()));
    }
    if let Some((asset_type, file)) =
        line.text.strip_prefix("::asset ").and_then(|it| it.trim().split_once(' '))
    {
        return LineKind::Asset { asset_type, file: file.trim() };
    }
    let Some(rest) = line.text.strip_prefix("::progress ") else { return LineKind::Log };
    let (percent, message) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    match percent.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => LineKind::Progress(percent as u8, message.trim()),
        _ => LineKind::Log,
    }
}

/// Forwards lines until the output has ended and everything has been sent.
pub(super) async fn forward(client: &Client, job: &Job<Value>, mut from: Receiver<Line>) -> ProgramOutput {
    let (mut output, mut lines) = (ProgramOutput::default(), Vec::new());
    while from.recv_many(&mut lines, APPEND_LINES_MAX).await > 0 {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for line in lines.drain(..) {
            match kind_of(&line) {
                LineKind::Progress(percent, message) => job.progress(percent, message),
                LineKind::Result(result) => output.result = Some(result),
                LineKind::Asset { asset_type, file } => {
                    if let Err(error) = store(job, asset_type, Path::new(file)).await {
                        let text = format!("cannot store ::asset {file}: {error}");
                        rows.extend(log_rows(&Line { stream: "stderr", text: text.clone(), is_first: true }));
                        output.failed_asset = Some(text);
                    }
                }
                LineKind::Log => {
                    output.keep(&line);
                    bytes += line.text.len();
                    rows.extend(log_rows(&line));
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

/// Uploads a file under its name.
async fn store(job: &Job<Value>, asset_type: &str, file: &Path) -> Result<(), String> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    job.asset_of_type(asset_type, &name, file).await.map(drop).map_err(|error| error.to_string())
}

/// A line as rows of the log: replaced bytes may have made it too long for one.
fn log_rows(line: &Line) -> Vec<Value> {
    let level = if line.stream == "stderr" { "error" } else { "info" };
    let (mut rows, mut rest) = (Vec::new(), line.text.as_str());
    loop {
        let (text, more) = rest.split_at(rest.floor_char_boundary(LOG_LINE_BYTES_MAX));
        rows.push(json!({ "stream": line.stream, "level": level, "text": text }));
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

    fn line(text: &str) -> Line {
        Line { stream: "stdout", text: text.to_owned(), is_first: true }
    }

    #[test]
    fn lines_are_recognized() {
        assert_eq!(kind_of(&line("::progress 40 half way ")), LineKind::Progress(40, "half way"));
        assert_eq!(kind_of(&line("::progress 12.5%")), LineKind::Progress(12, ""));
        assert_eq!(kind_of(&line("::result {\"n\": 1}")), LineKind::Result(Ok(json!({ "n": 1 }))));
        assert_eq!(
            kind_of(&line("::asset png out/a b.png ")),
            LineKind::Asset { asset_type: "png", file: "out/a b.png" }
        );
        assert_eq!(kind_of(&line("::asset png")), LineKind::Log);
        assert!(matches!(kind_of(&line("::result {n")), LineKind::Result(Err(_))));
        for text in
            ["::progress 101", "::progress", "::progress NaN", "progress 4", " ::progress 4", "::result"]
        {
            assert_eq!(kind_of(&line(text)), LineKind::Log, "{text}");
        }
        let rest = Line { is_first: false, ..line("::progress 40") };
        assert_eq!(kind_of(&rest), LineKind::Log);
    }

    #[test]
    fn the_last_lines_of_stderr_are_kept() {
        let mut output = ProgramOutput::default();
        for n in 0..20 {
            output.keep(&Line { stream: "stderr", ..line(&n.to_string()) });
            output.keep(&line("not this"));
        }
        assert_eq!(output.last_errors(), "10\n11\n12\n13\n14\n15\n16\n17\n18\n19");
    }
}
