//! Output of programs under `tenure work`: the first byte chooses where it is written. No byte is lost, no line is longer than
//! its limit, lines do not depend on the pieces in which they arrive, and a command is read as it was written.

#[path = "../../../../crates/cli/src/work/commands.rs"]
mod commands;
#[path = "../../../../crates/cli/src/work/lines.rs"]
mod lines;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use commands::{LineKind, kind_of};
use futures_util::FutureExt as _;
use lines::{Line, LineSource, RESULT, read};
use serde_json::{Value, json};
use tenure_core::limits::{EVENT_BYTES_MAX, LOG_LINE_BYTES_MAX};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

const SOURCES: [LineSource; 4] =
    [LineSource::Stdout, LineSource::StdoutWithCommands, LineSource::Stderr, LineSource::Commands];

pub(super) fn check(input: &[u8]) {
    let Some((choice, output)) = input.split_first() else { return };
    let source = SOURCES[usize::from(*choice) % SOURCES.len()];
    // Lower-case choices repeat the output until it is longer than a line may be.
    let times = if choice.is_ascii_lowercase() { LOG_LINE_BYTES_MAX / output.len().max(1) + 2 } else { 1 };
    let output = output.repeat(times);
    let lines = lines_of(&output, source, usize::MAX);
    for piece_bytes in if times == 1 { [1, 7] } else { [4099, 65_537] } {
        assert_eq!(lines_of(&output, source, piece_bytes), lines, "in pieces of {piece_bytes} bytes");
    }
    check_lines(&output, &lines);
    for line in &lines {
        check_kind(line);
    }
}

/// Output that arrives in pieces of this size.
struct Pieces<'o> {
    output: &'o [u8],
    piece_bytes: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.piece_bytes.min(to.remaining()).min(self.output.len());
        let (piece, rest) = self.output.split_at(count);
        to.put_slice(piece);
        self.output = rest;
        Poll::Ready(Ok(()))
    }
}

fn lines_of(output: &[u8], source: LineSource, piece_bytes: usize) -> Vec<Line> {
    // An output has at most one line for each byte.
    let (to, mut from) = mpsc::channel(output.len() + 1);
    read(Some(Pieces { output, piece_bytes }), source, to).now_or_never().expect("the output never waits");
    std::iter::from_fn(|| from.try_recv().ok()).collect()
}

/// The lines are the output, split at line breaks.
fn check_lines(output: &[u8], lines: &[Line]) {
    let mut whole: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines {
        let bytes_max = if line.text.contains(RESULT) { EVENT_BYTES_MAX } else { LOG_LINE_BYTES_MAX };
        assert!(line.text.len() <= 3 * bytes_max, "a line of {} bytes", line.text.len());
        assert!(line.is_first || is_open, "a part of a line follows its beginning");
        match whole.last_mut() {
            Some(text) if !line.is_first => text.push_str(&line.text),
            _ => whole.push(line.text.clone()),
        }
        is_open = !line.is_last;
    }
    let expected = output.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        String::from_utf8_lossy(line).replace('\0', "\u{fffd}")
    });
    let expected: Vec<String> = expected.collect();
    assert_eq!(whole.len(), expected.len());
    // A line that is split before its line break keeps the carriage return.
    let is_same = |found: &str, line: &str| found == line || found.strip_suffix('\r') == Some(line);
    // A long line that is not UTF-8 may be split within invalid bytes, and has more replacements then.
    if std::str::from_utf8(output).is_ok() || lines.iter().all(|line| line.is_first && line.is_last) {
        let different = whole.iter().zip(&expected).find(|(found, line)| !is_same(found, line));
        assert_eq!(different, None);
    }
}

fn check_kind(line: &Line) {
    let has_commands = matches!(line.source, LineSource::StdoutWithCommands | LineSource::Commands);
    match kind_of(line) {
        LineKind::Log => assert_ne!(line.source, LineSource::Commands),
        LineKind::Invalid | LineKind::Rest => assert_eq!(line.source, LineSource::Commands),
        command => {
            assert!(has_commands && line.is_first, "{line:?}");
            check_command(&command, line);
        }
    }
}

/// A command that is written again is read as the same command.
fn check_command(command: &LineKind<'_>, line: &Line) {
    let prefix = line.source.command_prefix().expect("the source has commands");
    let written = match command {
        LineKind::Progress(percent, message) => {
            assert!(*percent <= 100);
            format!("progress {percent} {message}")
        }
        LineKind::Result(Ok(value)) => format!("result {value}"),
        LineKind::Asset { asset_type, file } => {
            assert!(!asset_type.is_empty() && !file.is_empty(), "{command:?}");
            format!("asset {asset_type} {file}")
        }
        LineKind::Result(Err(_)) | LineKind::Log | LineKind::Invalid | LineKind::Rest => return,
    };
    let again =
        Line { source: line.source, text: format!("{prefix}{written}"), is_first: true, is_last: true };
    match (command, kind_of(&again)) {
        // A number may have another last digit: see the target for JSON.
        (LineKind::Result(Ok(value)), LineKind::Result(Ok(found))) => {
            assert_eq!(without_floats(&found), without_floats(value));
        }
        (_, found) => assert_eq!(found, *command),
    }
}

fn without_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => json!("float"),
        Value::Array(items) => items.iter().map(without_floats).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), without_floats(value))).collect()
        }
        other => other.clone(),
    }
}
