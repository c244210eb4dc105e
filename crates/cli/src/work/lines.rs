//! Splits what a program writes into lines: any length, any bytes.

use tenure_core::limits::{EVENT_BYTES_MAX, LOG_LINE_BYTES_MAX};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::sync::mpsc;

/// Where a program wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineSource {
    Stdout,
    /// Stdout of a program whose lines that begin with `::` are commands.
    StdoutWithCommands,
    Stderr,
    /// The descriptor for commands.
    Commands,
}

impl LineSource {
    /// What precedes a command; `None` if the source has no commands.
    pub(super) fn command_prefix(self) -> Option<&'static str> {
        match self {
            Self::Commands => Some(""),
            Self::StdoutWithCommands => Some("::"),
            Self::Stdout | Self::Stderr => None,
        }
    }

    /// The longest line that begins like this. A result may be longer than a log line.
    fn bytes_max(self, begin: &[u8]) -> usize {
        let command = self.command_prefix().and_then(|prefix| begin.strip_prefix(prefix.as_bytes()));
        let is_result = command.is_some_and(|command| command.starts_with(RESULT.as_bytes()));
        if is_result { EVENT_BYTES_MAX } else { LOG_LINE_BYTES_MAX }
    }
}

/// The beginning of the command that sets the result.
pub(super) const RESULT: &str = "result ";

/// A line, or a part of one that is too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) source: LineSource,
    pub(super) text: String,
    /// Whether this is the beginning of a line.
    pub(super) is_first: bool,
    /// Whether this is the end of a line.
    pub(super) is_last: bool,
}

/// Sends every line until the end of the output, or until the receiver is dropped.
pub(super) async fn read(from: Option<impl AsyncRead + Unpin>, source: LineSource, to: mpsc::Sender<Line>) {
    let Some(from) = from else { return };
    let mut reader = BufReader::new(from);
    let (mut bytes, mut is_first) = (Vec::new(), true);
    loop {
        let room = source.bytes_max(&bytes).saturating_sub(bytes.len()) as u64;
        let read = (&mut reader).take(room).read_until(b'\n', &mut bytes).await.unwrap_or(0);
        let is_whole = bytes.last() == Some(&b'\n');
        let is_end = read == 0 && room > 0;
        let cut = if is_whole || is_end {
            bytes.len()
        } else if bytes.len() >= source.bytes_max(&bytes) {
            character_boundary(&bytes)
        } else {
            continue;
        };
        let piece: Vec<u8> = bytes.drain(..cut).collect();
        // A lone line break after a line that was split there is not a line.
        let is_line = if is_end { !piece.is_empty() } else { is_first || piece != b"\n" };
        let is_last = is_whole || is_end;
        let line = Line { source, text: text(&piece, is_last), is_first, is_last };
        if (is_line && to.send(line).await.is_err()) || is_end {
            return;
        }
        is_first = is_whole;
    }
}

/// Where to split so that no UTF-8 character is split.
fn character_boundary(bytes: &[u8]) -> usize {
    let is_continuation = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    let back = bytes.iter().rev().take(3).take_while(|byte| is_continuation(**byte)).count();
    let cut = bytes.len() - back;
    // A multi-byte character begins with two or more high bits.
    if cut > 1 && bytes[cut - 1] >= 0b1100_0000 { cut - 1 } else { bytes.len() }
}

/// The bytes as text, at the end of a line without its line break. Invalid UTF-8 and U+0000, which logs reject, are
/// replaced.
fn text(bytes: &[u8], is_last: bool) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").filter(|_| is_last).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines_of(bytes: &[u8]) -> Vec<Line> {
        lines_from(LineSource::Stdout, bytes).await
    }

    async fn lines_from(source: LineSource, bytes: &[u8]) -> Vec<Line> {
        let (to, mut from) = mpsc::channel(1000);
        read(Some(bytes), source, to).await;
        let mut lines = Vec::new();
        from.recv_many(&mut lines, 1000).await;
        lines
    }

    async fn texts_of(bytes: &[u8]) -> Vec<String> {
        lines_of(bytes).await.into_iter().map(|line| line.text).collect()
    }

    #[tokio::test]
    async fn lines_end_at_line_breaks() {
        assert_eq!(texts_of(b"a\r\n\nb").await, ["a", "", "b"]);
        assert_eq!(texts_of(b"").await, [""; 0]);
        assert_eq!(texts_of(b"\xffx\0y\n").await, ["\u{fffd}x\u{fffd}y"]);
    }

    #[tokio::test]
    async fn long_lines_are_split_between_characters() {
        let long = "ü".repeat(LOG_LINE_BYTES_MAX);
        let lines = lines_of(format!("a{long}\nb\n").as_bytes()).await;
        assert!(lines.iter().all(|line| line.text.len() <= LOG_LINE_BYTES_MAX));
        let (last, pieces) = lines.split_last().unwrap();
        assert_eq!(pieces.iter().map(|line| line.text.as_str()).collect::<String>(), format!("a{long}"));
        assert_eq!(pieces.iter().filter(|line| line.is_first).count(), 1);
        assert_eq!((last.text.as_str(), last.is_first), ("b", true));
    }

    #[tokio::test]
    async fn a_carriage_return_where_a_long_line_is_split_is_kept() {
        let long = format!("{}\ry", "x".repeat(LOG_LINE_BYTES_MAX - 1));
        assert_eq!(texts_of(format!("{long}\n").as_bytes()).await.concat(), long);
    }

    #[tokio::test]
    async fn a_line_of_the_maximum_length_is_not_split() {
        let fits = "x".repeat(LOG_LINE_BYTES_MAX);
        assert_eq!(texts_of(format!("{fits}\ny\n").as_bytes()).await, [fits.as_str(), "y"]);
    }

    #[tokio::test]
    async fn a_result_may_be_longer_than_a_log_line() {
        let result = format!("result \"{}\"", "x".repeat(2 * LOG_LINE_BYTES_MAX));
        for (source, prefix) in [(LineSource::Commands, ""), (LineSource::StdoutWithCommands, "::")] {
            let lines = lines_from(source, format!("{prefix}{result}\n").as_bytes()).await;
            assert_eq!(lines.len(), 1);
            assert_eq!(lines[0].text, format!("{prefix}{result}"));
        }
        for source in [LineSource::Stdout, LineSource::Stderr] {
            assert_eq!(lines_from(source, format!("::{result}\n").as_bytes()).await.len(), 3);
        }
    }

    #[tokio::test]
    async fn no_line_is_longer_than_its_limit() {
        for (begin, bytes_max) in [("result ", EVENT_BYTES_MAX), ("asset png ", LOG_LINE_BYTES_MAX)] {
            let line = format!("{begin}{}\nprogress 1\n", "x".repeat(EVENT_BYTES_MAX));
            let lines = lines_from(LineSource::Commands, line.as_bytes()).await;
            assert!(lines.iter().all(|line| line.text.len() <= bytes_max));
            assert!(lines[0].is_first && !lines[0].is_last);
            let last = lines.last().unwrap();
            assert_eq!((last.text.as_str(), last.is_first, last.is_last), ("progress 1", true, true));
        }
    }
}
