//! How values are shown to people: text cells, ages, short ids; and lists and objects in every output format.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::Value;
use tenure_api::JobError;
use tenure_core::text::escaped;
use tenure_core::time::{Millis, Timestamp};

use crate::args::OutputFormat;
use crate::client::{Answer, Page};
use crate::output::{self, Exit};

/// A column of a table: its heading, and the text of a row's cell.
pub(crate) type Column<T> = (&'static str, fn(&T) -> String);

/// A list, and one of its rows, in every output format.
pub(crate) struct List<T: 'static> {
    /// The id or name that `-o name` prints.
    pub(crate) name: fn(&T) -> String,
    pub(crate) columns: &'static [Column<T>],
    /// Columns that `-o wide` adds.
    pub(crate) wide_columns: &'static [Column<T>],
    /// What is shown of one object.
    pub(crate) pairs: fn(&T) -> Pairs,
}

/// Names and values.
pub(crate) type Pairs = Vec<(&'static str, String)>;

impl<T> List<T> {
    pub(crate) fn print(&self, format: OutputFormat, page: &Page<T>) -> Result<Exit> {
        match format {
            OutputFormat::Json => output::raw_json(format, &page.raw)?,
            OutputFormat::Jsonl => page.rows.iter().try_for_each(|row| output::raw_json(format, &row.raw))?,
            OutputFormat::Name => page.rows.iter().try_for_each(|row| output::data(&(self.name)(row)))?,
            OutputFormat::Table | OutputFormat::Wide => {
                let wide = if format == OutputFormat::Wide { self.wide_columns } else { &[] };
                let columns: Vec<&Column<T>> = self.columns.iter().chain(wide).collect();
                let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
                let row = |row: &Answer<T>| columns.iter().map(|(_, cell)| filled(cell(row))).collect();
                let mut cells: Vec<Vec<String>> = page.rows.iter().map(row).collect();
                if format == OutputFormat::Table {
                    shorten(&headings, &mut cells);
                }
                output::table(&headings, &cells)?;
            }
        }
        Ok(Exit::Done)
    }

    pub(crate) fn print_one(&self, format: OutputFormat, answer: &Answer<T>) -> Result<Exit> {
        one(format, answer, &(self.name)(answer), || (self.pairs)(answer))
    }

    pub(crate) fn headings(&self) -> Vec<&'static str> {
        self.columns.iter().map(|(heading, _)| *heading).collect()
    }

    pub(crate) fn cells(&self, row: &T) -> Vec<String> {
        self.columns.iter().map(|(_, cell)| filled(cell(row))).collect()
    }
}

fn filled(cell: String) -> String {
    if cell.is_empty() { "-".to_owned() } else { cell }
}

/// Cuts the ids in the column JOB to the shortest prefix that distinguishes the rows.
pub(crate) fn shorten(headings: &[&str], rows: &mut [Vec<String>]) {
    let Some(column) = headings.iter().position(|heading| *heading == "JOB") else { return };
    let ids: HashSet<String> = rows.iter().map(|row| row[column].clone()).collect();
    let length = [SHORT, 18, 23, 36].into_iter().find(|length| {
        let cut: HashSet<&str> = ids.iter().map(|id| id.get(..*length).unwrap_or(id)).collect();
        cut.len() == ids.len()
    });
    for row in rows {
        row[column].truncate(length.unwrap_or(36));
    }
}

/// The length of the timestamp in an id.
const SHORT: usize = 13;

/// The first part of an id: its timestamp.
pub(crate) fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}

/// Prints one object in every output format; `pairs` is what people see.
pub(crate) fn one<T>(
    format: OutputFormat,
    answer: &Answer<T>,
    name: &str,
    pairs: impl FnOnce() -> Pairs,
) -> Result<Exit> {
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::raw_json(format, &answer.raw)?,
        OutputFormat::Name => output::data(name)?,
        OutputFormat::Table | OutputFormat::Wide => output::data(&output::aligned(&pairs()))?,
    }
    Ok(Exit::Done)
}

/// A value that can be shown in a cell.
pub(crate) trait Cell {
    fn cell(&self) -> String;
}

impl Cell for String {
    fn cell(&self) -> String {
        plain(self)
    }
}

macro_rules! number_cells {
    ($($number:ty),*) => {
        $(impl Cell for $number {
            fn cell(&self) -> String {
                self.to_string()
            }
        })*
    };
}

number_cells!(u16, u32, u64, i32, f64);

impl Cell for Value {
    fn cell(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::String(text) => plain(text),
            other => plain(&other.to_string()),
        }
    }
}

impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> String {
        self.as_ref().map(T::cell).unwrap_or_default()
    }
}

/// A value as text, without quotes and control characters; empty for none.
pub(crate) fn text(value: &impl Cell) -> String {
    value.cell()
}

pub(crate) fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// A text on one line, with characters escaped that could control a terminal.
pub(crate) fn plain(text: &str) -> String {
    let line: String =
        text.chars().map(|letter| if matches!(letter, '\n' | '\r' | '\t') { ' ' } else { letter }).collect();
    escaped(&line).into_owned()
}

/// The time since an RFC 3339 timestamp; empty if there is none.
pub(crate) fn age<'a>(timestamp: impl Into<Option<&'a String>>) -> String {
    let at = timestamp.into().and_then(|text| Timestamp::parse(text));
    at.map(|at| short_duration(now() - at)).unwrap_or_default()
}

/// A duration in its largest unit.
pub(crate) fn short_duration(duration: Millis) -> String {
    match duration.0 {
        ms if ms < 1000 => format!("{ms}ms"),
        ms if ms < 120_000 => format!("{}s", ms / 1000),
        ms if ms < 7_200_000 => format!("{}m", ms / 60_000),
        ms if ms < 172_800_000 => format!("{}h", ms / 3_600_000),
        ms => format!("{}d", ms / 86_400_000),
    }
}

/// This machine's clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64)
}

/// The first line of an error, cut to fit a table.
pub(crate) fn error(error: Option<&JobError>) -> String {
    const CHARS_MAX: usize = 60;
    let text = error.map(|error| error.text.as_str()).unwrap_or_default();
    let line = plain(text.lines().next().unwrap_or_default());
    if line.chars().count() <= CHARS_MAX {
        return line;
    }
    let cut: String = line.chars().take(CHARS_MAX).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_one_unit() {
        let shown = |ms| short_duration(Millis(ms));
        assert_eq!(
            [shown(5), shown(61_000), shown(3_600_000), shown(7_200_000)],
            ["5ms", "61s", "60m", "2h"]
        );
        assert_eq!(shown(10 * 86_400_000), "10d");
    }

    #[test]
    fn ids_are_cut_to_the_shortest_prefix_that_differs() {
        let mut rows = vec![
            vec!["01990c3a-7d2e-7abc-8def-0123456789ab".to_owned()],
            vec!["01990c3a-7d2e-7abd-8def-0123456789ab".to_owned()],
        ];
        shorten(&["JOB"], &mut rows);
        assert_eq!(rows[0][0], "01990c3a-7d2e-7abc");
        rows.truncate(1);
        shorten(&["JOB"], &mut rows);
        assert_eq!(rows[0][0], "01990c3a-7d2e");
    }
}
