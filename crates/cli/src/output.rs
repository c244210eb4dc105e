//! Data goes to stdout, words go to stderr; colours only where a terminal shows them (`NO_COLOR` is honoured).
//!
//! Exit codes are named here once, so that no command invents its own.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::Value;

use crate::args::Form;

/// What a process says by its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Something broke.
    Failed = 1,
    /// There is no such thing.
    NotFound = 5,
    /// It is there, and the answer is no.
    Refused = 6,
    /// A file does not pass its check.
    Flawed = 7,
    /// The server, or the database, cannot be reached.
    Unreachable = 9,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Data, as it is.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Data as JSON: on one line for `jsonl`, else laid out.
pub(crate) fn json(form: Form, value: &Value) -> io::Result<()> {
    if form == Form::Jsonl { data(&value.to_string()) } else { data(&format!("{value:#}")) }
}

/// Rows under headings, each column as wide as it must be.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    data(&text)
}

/// Words, for people. That they cannot be read is no reason to fail.
pub(crate) fn words(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{}", text.trim_end_matches('\n'));
}
