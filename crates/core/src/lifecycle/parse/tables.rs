//! Reads the header of a file and its small tables: policy, credits, idempotency, retention.

use toml::de::DeValue;

use super::super::flaw::{Located, RuleId, suggestion};
use super::super::policy::{Backoff, Idempotency, Jitter, Policy, Retention};
use super::reader::{DraftReader, KnownTable, TomlValue, shown};
use super::{DraftCredits, DraftIdempotency};
use crate::limits;
use crate::text::did_you_mean;

pub(super) fn name(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> Option<Located<String>> {
    let value = required(reader, root, "name", "name = \"review\"")?;
    let name = reader.text(value, "name")?;
    let well_formed = name.value.len() <= limits::NAME_BYTES_MAX
        && name.value.starts_with(|c: char| c.is_ascii_lowercase())
        && name.value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if !well_formed {
        let format = "lower-case letters, digits, `_` and `-`, starting with a letter: review";
        reader.bad_name(&name, "a lifecycle", format);
        return None;
    }
    Some(name)
}

pub(super) fn version(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> u32 {
    let value = required(reader, root, "version", "version = 1");
    value.and_then(|value| reader.number(value, "version", 1, u32::MAX)).unwrap_or(1)
}

fn required<'t>(
    reader: &mut DraftReader<'_>,
    root: &KnownTable<'t>,
    key: &str,
    line: &str,
) -> Option<&'t TomlValue<'t>> {
    let value = root.get(key);
    if value.is_none() {
        let (message, help) = (format!("`{key}` is missing"), format!("add the line {line}"));
        reader.flaws.add(RuleId::Syntax, message, &[(root.at, "belongs at the top")], help);
    }
    value
}

pub(super) fn policy(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> Policy {
    let default = Policy::default();
    let keys = &["max_attempts", "lease", "heartbeat", "cancel_grace", "backoff"];
    let Some(table) = reader.subtable(root, "policy", keys) else { return default };
    let attempts = table.get("max_attempts");
    let attempts = attempts.and_then(|it| reader.number(it, "max_attempts", 1, limits::ATTEMPTS_MAX));
    Policy {
        max_attempts: attempts.unwrap_or(default.max_attempts),
        lease: reader.duration(&table, "lease", limits::LEASE_MS_MIN).unwrap_or(default.lease),
        heartbeat: reader.duration(&table, "heartbeat", 1).unwrap_or(default.heartbeat),
        cancel_grace: reader.duration(&table, "cancel_grace", 0).unwrap_or(default.cancel_grace),
        backoff: backoff(reader, &table),
    }
}

fn backoff(reader: &mut DraftReader<'_>, policy: &KnownTable<'_>) -> Backoff {
    let default = Backoff::default();
    let Some(table) = reader.subtable(policy, "backoff", &["base", "factor", "max", "jitter"]) else {
        return default;
    };
    Backoff {
        base: reader.duration(&table, "base", 0).unwrap_or(default.base),
        factor: table.get("factor").and_then(|value| factor(reader, value)).unwrap_or(default.factor),
        max: reader.duration(&table, "max", 0).unwrap_or(default.max),
        jitter: jitter(reader, &table).unwrap_or(default.jitter),
    }
}

fn factor(reader: &mut DraftReader<'_>, value: &TomlValue<'_>) -> Option<f64> {
    let number: Option<f64> = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::String(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => {
            reader.wrong_type(value, "factor", "a number", "write it without quotes: factor = 2.0");
            return None;
        }
    };
    let found = number.filter(|number| number.is_finite() && *number >= 1.0);
    if found.is_none() {
        let places = [(value.span().into(), "out of range")];
        let help = "1 keeps the delay constant, 2 doubles it each time";
        reader.flaws.add(RuleId::Syntax, "`factor` must be a finite number of at least 1", &places, help);
    }
    found
}

fn jitter(reader: &mut DraftReader<'_>, table: &KnownTable<'_>) -> Option<Jitter> {
    let text = reader.optional_text(table, "jitter")?;
    reader.word(&text, "a jitter", &Jitter::ALL.map(Jitter::as_str), Jitter::parse)
}

pub(super) fn credits(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> Option<DraftCredits> {
    let table = reader.subtable(root, "credits", &["settle", "refund"])?;
    let mut draft = DraftCredits { at: table.at, settle: Vec::new(), refund: Vec::new(), unreadable: false };
    for (key, names) in [("settle", &mut draft.settle), ("refund", &mut draft.refund)] {
        let Some(value) = table.get(key) else { continue };
        *names = reader.text_list(value, key);
        draft.unreadable |= !matches!(value.get_ref(), DeValue::Array(values) if values.len() == names.len());
    }
    Some(draft)
}

pub(super) fn idempotency(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> DraftIdempotency {
    let default = Idempotency::default();
    let mut draft = DraftIdempotency { derive: default.derive, reusable: Vec::new(), window: default.window };
    let Some(table) = reader.subtable(root, "idempotency", &["derive", "reusable", "window"]) else {
        return draft;
    };
    if let Some(value) = table.get("derive") {
        for part in reader.text_list(value, "derive") {
            derive_part(reader, &part);
            draft.derive.push(part.value);
        }
    }
    if let Some(value) = table.get("reusable") {
        draft.reusable = reader.text_list(value, "reusable");
    }
    draft.window = reader.duration(&table, "window", 1).unwrap_or(draft.window);
    draft
}

/// A part of a derived key must exist in every creation.
fn derive_part(reader: &mut DraftReader<'_>, part: &Located<String>) {
    let words = ["user_id", "type", "minute", "payload"];
    let path = part.value.strip_prefix("payload.");
    if words.contains(&part.value.as_str())
        || path.is_some_and(|path| path.split('.').all(|step| !step.is_empty()))
    {
        return;
    }
    let possible =
        "a key is derived from user_id, type, minute, payload, or a part of it such as payload.prompt";
    let help = suggestion(did_you_mean(&part.value, words), possible);
    let message = format!("a key cannot be derived from `{}`", shown(&part.value));
    reader.flaws.add(RuleId::L1, message, &[(part.at, "unknown")], help);
}

pub(super) fn retention(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> Retention {
    let default = Retention::default();
    let Some(table) = reader.subtable(root, "retention", &["jobs", "telemetry"]) else { return default };
    Retention {
        jobs: reader.duration(&table, "jobs", 0).unwrap_or(default.jobs),
        telemetry: reader.duration(&table, "telemetry", 0).unwrap_or(default.telemetry),
    }
}
