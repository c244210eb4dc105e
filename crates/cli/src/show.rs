//! How values look to people: ages, short ids, one line for an error; and lists and objects in every form.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::Value;
use tenure_core::time::{Millis, Timestamp};

use crate::args::Form;
use crate::output;

/// A column of a table: its heading, and what stands in it.
pub(crate) type Column = (&'static str, fn(&Value) -> String);

/// A list in every form: `columns` for a table, and `more` of them for a wide one.
pub(crate) struct List {
    /// Under which name the answer has its rows.
    pub(crate) plural: &'static str,
    /// Which member names a row.
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [Column],
    pub(crate) more: &'static [Column],
}

impl List {
    /// Prints the API's answer.
    pub(crate) fn print(&self, form: Form, answer: &Value) -> Result<()> {
        let none = Vec::new();
        let rows = answer[self.plural].as_array().unwrap_or(&none);
        match form {
            Form::Json => output::json(form, answer)?,
            Form::Jsonl => rows.iter().try_for_each(|row| output::json(form, row))?,
            Form::Name => rows.iter().try_for_each(|row| output::data(&text(&row[self.name])))?,
            Form::Table | Form::Wide => {
                let more = if form == Form::Wide { self.more } else { &[] };
                let columns: Vec<&Column> = self.columns.iter().chain(more).collect();
                let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
                let mut cells = cells(&columns, rows);
                if form == Form::Table {
                    shorten(&headings, &mut cells);
                }
                output::table(&headings, &cells)?;
            }
        }
        Ok(())
    }
}

/// What stands in each column of each row.
pub(crate) fn cells(columns: &[&Column], rows: &[Value]) -> Vec<Vec<String>> {
    let row = |row| columns.iter().map(|(_, cell)| filled(cell(row))).collect();
    rows.iter().map(row).collect()
}

fn filled(cell: String) -> String {
    if cell.is_empty() { "-".to_owned() } else { cell }
}

/// Ids under JOB are cut to as few of their parts as tell these rows apart.
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

/// What of an id is its time: enough among people.
const SHORT: usize = 13;

/// An id, cut.
pub(crate) fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}

/// One object in every form; for people, as `pairs`.
pub(crate) fn one(
    form: Form,
    value: &Value,
    name: &str,
    pairs: impl FnOnce() -> Vec<(&'static str, String)>,
) -> Result<()> {
    match form {
        Form::Json | Form::Jsonl => output::json(form, value)?,
        Form::Name => output::data(&text(&value[name]))?,
        Form::Table | Form::Wide => output::pairs(&pairs())?,
    }
    Ok(())
}

/// A value without quotes; nothing for null.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        Value::Number(number) => number
            .as_f64()
            .filter(|n| n.fract() == 0.0 && n.abs() < 1e15)
            .map_or_else(|| number.to_string(), |whole| format!("{whole:.0}")),
        other => other.to_string(),
    }
}

/// A text on one line that cannot steer a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A moment as how long ago it was; nothing for null.
pub(crate) fn age(value: &Value) -> String {
    let at = value.as_str().and_then(Timestamp::parse);
    at.map(|at| coarse(now() - at)).unwrap_or_default()
}

/// A span in its largest unit.
pub(crate) fn coarse(span: Millis) -> String {
    match span.0 {
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

/// The first line of an error, not too long for a table.
pub(crate) fn error(error: &Value) -> String {
    const CHARS_MAX: usize = 60;
    let text = error["text"].as_str().unwrap_or_default();
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
    fn spans_are_coarse() {
        let said = |ms| coarse(Millis(ms));
        assert_eq!([said(5), said(61_000), said(3_600_000), said(7_200_000)], ["5ms", "61s", "60m", "2h"]);
        assert_eq!(said(10 * 86_400_000), "10d");
    }

    #[test]
    fn ids_are_cut_as_far_as_they_differ() {
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
