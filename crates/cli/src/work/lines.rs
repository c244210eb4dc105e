//! Splits a program's output into log lines: any length, any bytes.

use tenure_core::limits::{EVENT_BYTES_MAX, LOG_LINE_BYTES_MAX};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::sync::mpsc;

/// The prefix of a result, which may be longer than a log line.
pub(super) const RESULT: &str = "::result ";

/// A line, or a part of one that is too long for a log line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// `stdout` or `stderr`.
    pub(super) stream: &'static str,
    pub(super) text: String,
    /// Whether this is the beginning of a line.
    pub(super) is_first: bool,
}

/// Sends every line until the end of the output, or until the receiver is dropped.
pub(super) async fn read(from: Option<impl AsyncRead + Unpin>, stream: &'static str, to: mpsc::Sender<Line>) {
    let Some(from) = from else { return };
    let mut reader = BufReader::new(from);
    let (mut bytes, mut is_first) = (Vec::new(), true);
    loop {
        let bytes_max =
            if bytes.starts_with(RESULT.as_bytes()) { EVENT_BYTES_MAX } else { LOG_LINE_BYTES_MAX };
        let room = bytes_max.saturating_sub(bytes.len()) as u64;
        let read = (&mut reader).take(room).read_until(b'\n', &mut bytes).await.unwrap_or(0);
        let is_whole = bytes.last() == Some(&b'\n');
        let is_end = read == 0 && room > 0;
        let cut = if is_whole || is_end {
            bytes.len()
        } else if bytes.len() >= EVENT_BYTES_MAX
            || (bytes.len() >= LOG_LINE_BYTES_MAX && !bytes.starts_with(RESULT.as_bytes()))
        {
            character_boundary(&bytes)
        } else {
            continue;
        };
        let piece: Vec<u8> = bytes.drain(..cut).collect();
        // A lone line break after a line that was split there is not a line.
        let is_line = if is_end { !piece.is_empty() } else { is_first || piece != b"\n" };
        let line = Line { stream, text: text(&piece), is_first };
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

/// The bytes as text. Invalid UTF-8 and U+0000, which logs reject, are replaced.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines_of(bytes: &[u8]) -> Vec<Line> {
        let (to, mut from) = mpsc::channel(1000);
        read(Some(bytes), "stdout", to).await;
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
    async fn a_line_of_the_maximum_length_is_not_split() {
        let fits = "x".repeat(LOG_LINE_BYTES_MAX);
        assert_eq!(texts_of(format!("{fits}\ny\n").as_bytes()).await, [fits.as_str(), "y"]);
    }

    #[tokio::test]
    async fn a_result_may_be_longer_than_a_log_line() {
        let result = format!("::result \"{}\"", "x".repeat(2 * LOG_LINE_BYTES_MAX));
        assert_eq!(texts_of(format!("{result}\n").as_bytes()).await, [result]);
    }
}
