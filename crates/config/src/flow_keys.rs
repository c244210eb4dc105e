//! The key `unique` of a type, and what it shares with the other declarations of flow control.

use tenure_core::flow::{Among, OnConflict, Unique};
use tenure_core::lifecycle::{Lifecycle, Trigger};
use tenure_core::limits;
use tenure_core::time::Millis;
use tenure_runtime::UniqueDefinition;
use tenure_runtime::guard::KeyExpression;

use crate::flaw::ValueError;
use crate::reader::{Reader, Table, TableShape};
use crate::text::printable;
use crate::type_keys::add_expression_flaw;
use crate::value::{self, Input};

const UNIQUE: TableShape<'_> =
    TableShape { place: "unique", keys: &["key", "among", "on_conflict", "delay", "max_delay"] };

/// What `on_conflict` names, before `delay` and `max_delay` are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conflict {
    Return,
    Refuse,
    Replace,
    Postpone,
    Cancel,
}

/// `unique = { key = "payload.repo", among = "waiting", on_conflict = "replace" }`.
pub(crate) fn unique(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    lifecycle: Option<&Lifecycle>,
) -> Option<UniqueDefinition> {
    let value = table.get("unique")?;
    let entries = reader.table(value, "unique")?;
    let table = reader.open(entries, value.span(), &UNIQUE);
    let key = key_expression(reader, &table, "unique");
    let among = reader.get(&table, "among", among);
    let words = [
        ("return", Conflict::Return),
        ("refuse", Conflict::Refuse),
        ("replace", Conflict::Replace),
        ("postpone", Conflict::Postpone),
        ("cancel", Conflict::Cancel),
    ];
    let conflict = reader.get(&table, "on_conflict", |input: &Input<'_>| value::keyword(input, &words));
    let on_conflict = on_conflict(reader, &table, conflict.unwrap_or(Conflict::Return), lifecycle);
    let among = among.unwrap_or(Among::Unfinished);
    Some(UniqueDefinition { key: key?, rule: Unique { among, on_conflict: on_conflict? } })
}

/// The expression `key` of a table.
pub(crate) fn key_expression(reader: &mut Reader<'_>, table: &Table<'_>, place: &str) -> Option<String> {
    if table.get("key").is_none() {
        let help = "write an expression, such as key = \"payload.customer\"";
        reader.add_flaw(table.at.clone(), ValueError::new(format!("`{place}` has no `key`"), help));
    }
    let text = reader.get(table, "key", value::text)?;
    match KeyExpression::parse(&text) {
        Ok(_) => Some(text),
        Err(flaw) => {
            add_expression_flaw(reader, table, "key", &text, flaw);
            None
        }
    }
}

fn among(input: &Input<'_>) -> Result<Among, ValueError> {
    match value::text(input)?.as_str() {
        "waiting" => Ok(Among::Waiting),
        "unfinished" => Ok(Among::Unfinished),
        text if !text.starts_with(|first: char| first.is_ascii_digit()) => {
            let message = format!("`{}` is not a value of `among`", printable(text));
            Err(ValueError::new(message, "use \"waiting\", \"unfinished\" or a duration such as \"1h\""))
        }
        _ => span(input).map(Among::Created),
    }
}

pub(crate) fn span(input: &Input<'_>) -> Result<Millis, ValueError> {
    const MAX: Millis = Millis(limits::FLOW_SPAN_MS_MAX);
    let found = value::duration(Millis(1))(input)?;
    if found <= MAX {
        return Ok(found);
    }
    Err(ValueError::new(format!("`{}` is too long: {found}", input.key), format!("the maximum is {MAX}")))
}

fn on_conflict(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    conflict: Conflict,
    lifecycle: Option<&Lifecycle>,
) -> Option<OnConflict> {
    let (delay, max_delay) = (reader.get(table, "delay", span), reader.get(table, "max_delay", span));
    if conflict != Conflict::Postpone {
        for (key, value) in table.entries.iter().filter(|(key, _)| key.ends_with("delay")) {
            let message = format!("`{key}` is only for on_conflict = \"postpone\"");
            reader.add_flaw(value.span(), ValueError::new(message, "remove it"));
        }
    }
    match conflict {
        Conflict::Return => Some(OnConflict::Return),
        Conflict::Refuse => Some(OnConflict::Refuse),
        Conflict::Replace => Some(OnConflict::Replace),
        Conflict::Postpone => postpone(reader, table, delay, max_delay),
        Conflict::Cancel => {
            check_cancel(reader, table, lifecycle);
            Some(OnConflict::Cancel)
        }
    }
}

fn postpone(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    delay: Option<Millis>,
    max_delay: Option<Millis>,
) -> Option<OnConflict> {
    if table.get("delay").is_none() {
        let message = "on_conflict = \"postpone\" has no `delay`";
        reader.add_flaw(table.at.clone(), ValueError::new(message, "write delay = \"5s\""));
    }
    let delay = delay?;
    if let (Some(max), Some(value)) = (max_delay, table.get("max_delay"))
        && max < delay
    {
        let message = format!("`max_delay` is shorter than `delay`, which is {delay}");
        reader.add_flaw(value.span(), ValueError::new(message, "make it longer, or remove it"));
    }
    Some(OnConflict::Postpone { delay, max_delay })
}

/// A lifecycle without cancel rules could not cancel anything.
fn check_cancel(reader: &mut Reader<'_>, table: &Table<'_>, lifecycle: Option<&Lifecycle>) {
    let Some(lifecycle) = lifecycle else { return };
    if lifecycle.rules.iter().any(|rule| rule.on == Trigger::Cancel) {
        return;
    }
    let at = table.get("on_conflict").map(toml::Spanned::span).unwrap_or_default();
    let message = format!("lifecycle {} has no rule for `cancel`", lifecycle.name);
    reader.add_flaw(at, ValueError::new(message, "use another on_conflict, or another lifecycle"));
}
