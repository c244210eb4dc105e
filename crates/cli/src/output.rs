//! Output: data to stdout, messages to stderr, colours only on a terminal (`NO_COLOR` is honoured); and exit codes. All
//! output is escaped here, so that text of jobs and callers cannot control a terminal.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::value::RawValue;
use tenure_core::text::{escaped, escaped_json};

use crate::args::OutputFormat;

/// The exit codes of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    /// The job finished without success.
    Unsuccessful = 3,
    /// Not authenticated, or not allowed.
    NotAllowed = 4,
    NotFound = 5,
    Refused = 6,
    /// A file or a payload does not pass its check.
    Invalid = 7,
    TimedOut = 8,
    /// The server, or the database, cannot be reached.
    Unreachable = 9,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed: a message, an exit code, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(crate) fn print(&self) {
        message(&format!("tenure: {}", self.message));
        if let Some(help) = &self.help {
            message(&format!("help: {help}"));
        }
    }
}

/// Writes data to stdout, with a line break at its end. Characters that could control a terminal are escaped.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let text = escaped(text);
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Writes a value as JSON: on one line for `jsonl`, otherwise indented.
pub(crate) fn json(format: OutputFormat, value: &impl Serialize) -> io::Result<()> {
    let text = if format == OutputFormat::Jsonl {
        serde_json::to_string(value)?
    } else {
        serde_json::to_string_pretty(value)?
    };
    data(&escaped_json(&text))
}

/// Writes JSON as the server sent it, like [`json`]. It is not parsed: that would drop digits of large numbers.
pub(crate) fn raw_json(format: OutputFormat, raw: &RawValue) -> io::Result<()> {
    data(&escaped_json(&laid_out(raw.get(), format != OutputFormat::Jsonl)))
}

/// Valid JSON with other white space: indented by two spaces per level, or none at all.
fn laid_out(json: &str, indented: bool) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) =
        (String::with_capacity(json.len()), 0, false, false);
    let mut last = ' ';
    for letter in json.chars() {
        let newline = |out: &mut String, depth: usize| {
            if indented {
                out.push('\n');
                out.extend(std::iter::repeat_n("  ", depth));
            }
        };
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else {
            match letter {
                ' ' | '\n' | '\r' | '\t' => continue,
                '}' | ']' => {
                    depth -= 1;
                    if !matches!(last, '{' | '[') {
                        newline(&mut out, depth);
                    }
                }
                _ if matches!(last, '{' | '[' | ',') => newline(&mut out, depth),
                _ => {}
            }
            match letter {
                '{' | '[' => depth += 1,
                '"' => in_string = true,
                _ => {}
            }
            last = letter;
        }
        out.push(letter);
        if letter == ':' && !in_string && indented {
            out.push(' ');
        }
    }
    out
}

/// Writes rows under headings, each column as wide as its widest cell.
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

/// One row of a table.
pub(crate) fn line(cells: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    cells.join("  ").trim_end().to_owned()
}

/// Names and values, one pair per line; pairs without a value are omitted.
pub(crate) fn aligned(pairs: &[(&str, String)]) -> String {
    let pairs: Vec<_> = pairs.iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = pairs.iter().map(|(name, value)| format!("{name:width$}  {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Writes a message to stderr. Characters that could control a terminal are escaped. A closed stderr is not an error.
pub(crate) fn message(text: &str) {
    coloured_message(&escaped(text));
}

/// Writes a message with colours to stderr. The caller has escaped what others wrote.
pub(crate) fn coloured_message(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{}", text.trim_end_matches('\n'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_without_being_changed() {
        let json = r#"{"a": [1, {"b\"{": 12345678901234567890123.10}], "c": {}, "d": [], "e": "x, y: \\"}"#;
        let indented = laid_out(json, true);
        assert!(indented.contains("\n      \"b\\\"{\": 12345678901234567890123.10\n"), "{indented}");
        assert!(indented.contains("\n  \"c\": {},\n  \"d\": [],\n  \"e\": \"x, y: \\\\\"\n}"), "{indented}");
        assert_eq!(
            laid_out(&indented, false),
            json.replace(": ", ":").replace(", ", ",").replace("x,y:", "x, y: ")
        );
    }
}
