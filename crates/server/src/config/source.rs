//! A file as text: where its lines begin, and a picture of the one that a flaw is in.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::flaw::Place;
use super::secret::hide;

/// The configuration file, and a schema's.
pub(super) const FILE_BYTES_MAX: usize = 1 << 20;
/// A longer line is not shown: it would drown what is said about it.
const LINE_CHARS_MAX: usize = 200;

/// A file that was read.
pub(super) struct Source {
    /// As it was named.
    pub(super) path: PathBuf,
    /// Where its relative paths begin.
    pub(super) folder: PathBuf,
    pub(super) text: String,
    line_starts: Vec<usize>,
}

impl Source {
    pub(super) fn new(path: PathBuf, text: String) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self { path, folder, text, line_starts }
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, byte: usize) -> usize {
        self.line_starts.partition_point(|begin| *begin <= byte).max(1)
    }

    /// A piece of the file, with a picture of its first line.
    pub(super) fn place(&self, at: Range<usize>) -> Place {
        let start = self.text.floor_char_boundary(at.start);
        let line = self.line(start);
        let begin = self.line_starts[line - 1];
        let whole = self.text[begin..].split(['\n', '\r']).next().unwrap_or_default();
        // At the end of a line that ends with \r\n the place may lie behind what is shown.
        let start = start.min(begin + whole.len());
        let end = self.text.floor_char_boundary(at.end).clamp(start, begin + whole.len());
        let column = self.text[begin..start].chars().count() + 1;
        let is_shown = whole.chars().count() <= LINE_CHARS_MAX;
        let (text, underline) = picture(&self.text[begin..start], &self.text[start..end], whole);
        Place::File {
            file: self.path.clone(),
            line,
            column,
            text: is_shown.then_some(text),
            underline: underline.filter(|_| is_shown),
        }
    }
}

/// The line fit to be shown, and what to underline. A secret may be cut by the place; then nothing is underlined.
fn picture(before: &str, piece: &str, whole: &str) -> (String, Option<(usize, usize)>) {
    let fit =
        |text: &str| -> String { hide(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    let text = fit(whole);
    let (head, middle, tail) = (fit(before), fit(piece), fit(&whole[before.len() + piece.len()..]));
    let is_placed = format!("{head}{middle}{tail}") == text;
    let underline = is_placed.then(|| (head.chars().count(), middle.chars().count()));
    (text, underline)
}

/// Reads a text file of at most so many bytes: it might be endless.
pub(super) fn read(path: &Path, bytes_max: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(io::Error::other(format!("it has more than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
