//! A file's text with its line starts, and the line that a flaw is printed with.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::flaw::Place;
use crate::secret::hide;

/// The maximum size of the configuration file and of a schema file.
pub(crate) const FILE_BYTES_MAX: usize = 1 << 20;
/// Longer lines are not printed.
const LINE_CHARS_MAX: usize = 200;

pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// The base of relative paths in it.
    pub(crate) folder: PathBuf,
    pub(crate) text: String,
    line_starts: Vec<usize>,
}

impl Source {
    pub(crate) fn new(path: PathBuf, text: String) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self { path, folder, text, line_starts }
    }

    /// The line of a byte offset, from 1.
    pub(crate) fn line(&self, byte: usize) -> usize {
        self.line_starts.partition_point(|begin| *begin <= byte).max(1)
    }

    /// The place of a range, with its first line.
    pub(crate) fn place(&self, at: Range<usize>) -> Place {
        let start = self.text.floor_char_boundary(at.start);
        let line = self.line(start);
        let begin = self.line_starts[line - 1];
        let whole = self.text[begin..].split(['\n', '\r']).next().unwrap_or_default();
        // A place at the end of a line may be behind the \r of \r\n, which is not printed.
        let start = start.min(begin + whole.len());
        let end = self.text.floor_char_boundary(at.end).clamp(start, begin + whole.len());
        let column = self.text[begin..start].chars().count() + 1;
        let is_printed = whole.chars().count() <= LINE_CHARS_MAX;
        let (text, underline) = printed_line(&self.text[begin..start], &self.text[start..end], whole);
        Place::File {
            file: self.path.clone(),
            line,
            column,
            text: is_printed.then_some(text),
            underline: underline.filter(|_| is_printed),
        }
    }
}

/// The line without secrets and control characters, and what to underline: nothing if the place cuts a secret.
fn printed_line(before: &str, piece: &str, whole: &str) -> (String, Option<(usize, usize)>) {
    let clean =
        |text: &str| -> String { hide(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    let text = clean(whole);
    let (head, middle, tail) = (clean(before), clean(piece), clean(&whole[before.len() + piece.len()..]));
    let is_placed = format!("{head}{middle}{tail}") == text;
    let underline = is_placed.then(|| (head.chars().count(), middle.chars().count()));
    (text, underline)
}

/// Reads a text file of at most `bytes_max` bytes; the path may name an endless device.
pub(crate) fn read(path: &Path, bytes_max: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(io::Error::other(format!("it is larger than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
