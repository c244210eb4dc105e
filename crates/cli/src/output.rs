//! Data goes to stdout, words go to stderr; colours only where a terminal shows them (`NO_COLOR` is honoured).
//!
//! Exit codes are named here once, so that no command invents its own.

use std::fmt;
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
    /// The command line is not one.
    Usage = 2,
    /// The job ended, but not well.
    EndedBadly = 3,
    /// Not authenticated, or not allowed.
    NotAllowed = 4,
    /// There is no such thing.
    NotFound = 5,
    /// It is there, and the answer is no.
    Refused = 6,
    /// A file or a payload does not pass its check.
    Flawed = 7,
    /// What was waited for did not happen in time.
    TimedOut = 8,
    /// The server, or the database, cannot be reached.
    Unreachable = 9,
    /// The user had enough.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command does not go on: one sentence, an exit code, and what could be done.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) exit: Exit,
    pub(crate) sentence: String,
    pub(crate) help: Option<String>,
}

impl Trouble {
    /// Nothing can be done about it, or it is plain what.
    pub(crate) fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, sentence: sentence.into(), help: None }
    }

    /// What could be done.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Trouble {}

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
        text.push_str(&line(row, &widths));
        text.push('\n');
    }
    data(&text)
}

/// One row of cells; the last may be as wide as it likes.
pub(crate) fn line(cells: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    cells.join("  ").trim_end().to_owned()
}

/// Names and values, one to a line; those without a value are left out.
pub(crate) fn pairs(pairs: &[(&str, String)]) -> io::Result<()> {
    data(&aligned(pairs))
}

/// The same as text.
pub(crate) fn aligned(pairs: &[(&str, String)]) -> String {
    let pairs: Vec<_> = pairs.iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = pairs.iter().map(|(name, value)| format!("{name:width$}  {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Words, for people. That they cannot be read is no reason to fail.
pub(crate) fn words(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{}", text.trim_end_matches('\n'));
}
