//! What a program says: progress, assets and results for the SDK, everything else for the job's log. Lines are appended here
//! and not by the SDK, because a program that is faster than the server should wait for it, not lose lines.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Client, Job, Method};
use tenure_core::limits::LOG_LINE_BYTES_MAX;
use tokio::sync::mpsc;

use super::lines::{Line, RESULT};
use crate::client::{fresh_key, job_path};
use crate::output;

/// What one append may weigh.
const APPEND_BYTES_MAX: usize = 1 << 20;
const APPEND_LINES_MAX: usize = 500;
/// How much of stderr goes into an error's message.
const TAIL_LINES: usize = 10;
const TAIL_LINE_CHARS: usize = 500;
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What was heard and is needed at the end.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The last result, or why it is none.
    pub(super) result: Option<Result<Value, String>>,
    /// Why an asset is not stored, if one is not.
    pub(super) lost_asset: Option<String>,
    last_errors: VecDeque<String>,
}

impl Heard {
    /// The last lines of stderr.
    pub(super) fn tail(&self) -> String {
        self.last_errors.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn note(&mut self, line: &Line) {
        if line.stream == "stderr" {
            if self.last_errors.len() == TAIL_LINES {
                self.last_errors.pop_front();
            }
            self.last_errors.push_back(line.text.chars().take(TAIL_LINE_CHARS).collect());
        }
    }
}

/// What a line means.
#[derive(Debug, PartialEq)]
enum Meaning<'l> {
    Progress(u8, &'l str),
    Result(Result<Value, String>),
    /// Its type, and the file that it is in.
    Asset(&'l str, &'l str),
    Log,
}

fn meaning(line: &Line) -> Meaning<'_> {
    if !line.is_first {
        return Meaning::Log;
    }
    if let Some(json) = line.text.strip_prefix(RESULT) {
        return Meaning::Result(serde_json::from_str(json).map_err(|why| why.to_string()));
    }
    if let Some((asset_type, file)) =
        line.text.strip_prefix("::asset ").and_then(|it| it.trim().split_once(' '))
    {
        return Meaning::Asset(asset_type, file.trim());
    }
    let Some(rest) = line.text.strip_prefix("::progress ") else { return Meaning::Log };
    let (percent, message) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    match percent.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Meaning::Progress(percent as u8, message.trim()),
        _ => Meaning::Log,
    }
}

/// Hears until the program says no more and everything has been passed on.
pub(super) async fn hear(client: &Client, job: &Job<Value>, mut from: mpsc::Receiver<Line>) -> Heard {
    let (mut heard, mut lines) = (Heard::default(), Vec::new());
    while from.recv_many(&mut lines, APPEND_LINES_MAX).await > 0 {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for line in lines.drain(..) {
            match meaning(&line) {
                Meaning::Progress(percent, message) => job.progress(percent, message),
                Meaning::Result(result) => heard.result = Some(result),
                Meaning::Asset(asset_type, file) => {
                    if let Err(why) = store(job, asset_type, Path::new(file)).await {
                        let text = format!("::asset {file} is not stored: {why}");
                        let lost = Line { stream: "stderr", text: text.clone(), is_first: true };
                        rows.extend(written(&lost));
                        heard.lost_asset = Some(text);
                    }
                }
                Meaning::Log => {
                    heard.note(&line);
                    bytes += line.text.len();
                    rows.extend(written(&line));
                    if bytes >= APPEND_BYTES_MAX {
                        append(client, job, std::mem::take(&mut rows)).await;
                        bytes = 0;
                    }
                }
            }
        }
        append(client, job, rows).await;
    }
    heard
}

/// Uploads a file under its own name.
async fn store(job: &Job<Value>, asset_type: &str, file: &Path) -> Result<(), String> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    job.asset_of_type(asset_type, &name, file).await.map(drop).map_err(|error| error.to_string())
}

/// A line as the log takes it: replaced bytes may have made it too long.
fn written(line: &Line) -> Vec<Value> {
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

/// Appends, again and again while the server is away: if that lasts, the lease is lost and this is dropped.
async fn append(client: &Client, job: &Job<Value>, rows: Vec<Value>) {
    if rows.is_empty() {
        return;
    }
    let (path, key) = (job_path(&job.id, "/logs"), fresh_key());
    let body = json!({ "worker": job.record().worker, "fence": job.fence, "lines": rows });
    let mut pause = Duration::from_millis(200);
    while let Err(error) = client.call_keyed(Method::POST, &path, &body, &key).await {
        if !error.is_passing() {
            output::words(&format!("{}: the log was refused: {error}", job.id));
            return;
        }
        tokio::time::sleep(error.retry_after().unwrap_or(pause)).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line { stream: "stdout", text: text.to_owned(), is_first: true }
    }

    #[test]
    fn lines_have_meanings() {
        assert_eq!(meaning(&line("::progress 40 half way ")), Meaning::Progress(40, "half way"));
        assert_eq!(meaning(&line("::progress 12.5%")), Meaning::Progress(12, ""));
        assert_eq!(meaning(&line("::result {\"n\": 1}")), Meaning::Result(Ok(json!({ "n": 1 }))));
        assert_eq!(meaning(&line("::asset png out/a b.png ")), Meaning::Asset("png", "out/a b.png"));
        assert_eq!(meaning(&line("::asset png")), Meaning::Log);
        assert!(matches!(meaning(&line("::result {n")), Meaning::Result(Err(_))));
        for text in
            ["::progress 101", "::progress", "::progress NaN", "progress 4", " ::progress 4", "::result"]
        {
            assert_eq!(meaning(&line(text)), Meaning::Log, "{text}");
        }
        let rest = Line { is_first: false, ..line("::progress 40") };
        assert_eq!(meaning(&rest), Meaning::Log);
    }

    #[test]
    fn the_last_errors_are_kept() {
        let mut heard = Heard::default();
        for n in 0..20 {
            heard.note(&Line { stream: "stderr", ..line(&n.to_string()) });
            heard.note(&line("not this"));
        }
        assert_eq!(heard.tail(), "10\n11\n12\n13\n14\n15\n16\n17\n18\n19");
    }
}
