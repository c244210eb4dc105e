//! The head of a file and its small tables: policy, credits, idempotency, retention.

use toml::de::DeValue;

use super::super::flaw::{At, RuleId, Span};
use super::super::policy::{Backoff, Idempotency, Jitter, Policy, Retention};
use super::reader::{Reader, Table, Value, shown};
use super::{DraftCredits, DraftIdempotency};
use crate::limits;
use crate::text::did_you_mean;

pub(super) fn name(reader: &mut Reader<'_>, root: &Table<'_>) -> Option<At<String>> {
    let Some(value) = root.get("name") else {
        missing(reader, root.at, "name", "name = \"review\"");
        return None;
    };
    let name = reader.text(value, "name")?;
    let well_formed = name.value.len() <= limits::NAME_BYTES_MAX
        && name.value.starts_with(|c: char| c.is_ascii_lowercase())
        && name.value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if !well_formed {
        reader.bad_name(&name, "a lifecycle", "small letters, digits, `_` and `-`, a letter first: review");
        return None;
    }
    Some(name)
}

pub(super) fn version(reader: &mut Reader<'_>, root: &Table<'_>) -> u32 {
    let Some(value) = root.get("version") else {
        missing(reader, root.at, "version", "version = 1");
        return 1;
    };
    reader.number(value, "version", 1, u32::MAX).unwrap_or(1)
}

fn missing(reader: &mut Reader<'_>, at: Span, key: &str, line: &str) {
    let message = format!("the file does not say its `{key}`");
    reader.flaws.add(RuleId::Syntax, message, &[(at, "belongs at the top")], format!("add the line {line}"));
}

pub(super) fn policy(reader: &mut Reader<'_>, root: &Table<'_>) -> Policy {
    let mut policy = Policy::default();
    let keys = &["max_attempts", "lease", "heartbeat", "cancel_grace", "backoff"];
    let Some(table) = reader.below(root, "policy", keys) else { return policy };
    if let Some(attempts) = table.get("max_attempts") {
        policy.max_attempts =
            reader.number(attempts, "max_attempts", 1, limits::ATTEMPTS_MAX).unwrap_or(policy.max_attempts);
    }
    let mut span = |key, least_ms, default| {
        table.get(key).and_then(|value| reader.span(value, key, least_ms)).unwrap_or(default)
    };
    policy.lease = span("lease", limits::LEASE_MS_MIN, policy.lease);
    policy.heartbeat = span("heartbeat", 1, policy.heartbeat);
    policy.cancel_grace = span("cancel_grace", 0, policy.cancel_grace);
    policy.backoff = backoff(reader, &table);
    policy
}

fn backoff(reader: &mut Reader<'_>, policy: &Table<'_>) -> Backoff {
    let mut backoff = Backoff::default();
    let Some(table) = reader.below(policy, "backoff", &["base", "factor", "max", "jitter"]) else {
        return backoff;
    };
    if let Some(factor) = table.get("factor").and_then(|value| factor(reader, value)) {
        backoff.factor = factor;
    }
    if let Some(jitter) = table.get("jitter").and_then(|value| jitter(reader, value)) {
        backoff.jitter = jitter;
    }
    let mut span =
        |key, default| table.get(key).and_then(|value| reader.span(value, key, 0)).unwrap_or(default);
    backoff.base = span("base", backoff.base);
    backoff.max = span("max", backoff.max);
    backoff
}

fn factor(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<f64> {
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
        let help = "1 keeps the delay as it is, 2 doubles it each time";
        let at = value.span().into();
        reader.flaws.add(
            RuleId::Syntax,
            "`factor` must be 1 or more, and finite",
            &[(at, "out of bounds")],
            help,
        );
    }
    found
}

fn jitter(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<Jitter> {
    let text = reader.text(value, "jitter")?;
    let parse = |word: &str| match word {
        "none" => Some(Jitter::None),
        "full" => Some(Jitter::Full),
        "equal" => Some(Jitter::Equal),
        _ => None,
    };
    let known = parse(&text.value);
    if known.is_none() {
        let words = ["none", "full", "equal"];
        reader.unknown_word(&text, "a jitter", &words, did_you_mean(&text.value, words));
    }
    known
}

pub(super) fn credits(reader: &mut Reader<'_>, root: &Table<'_>) -> Option<DraftCredits> {
    let table = reader.below(root, "credits", &["settle", "refund"])?;
    let mut draft = DraftCredits { at: table.at, settle: Vec::new(), refund: Vec::new(), told: false };
    for (key, names) in [("settle", &mut draft.settle), ("refund", &mut draft.refund)] {
        let Some(value) = table.get(key) else { continue };
        *names = reader.text_list(value, key);
        draft.told |= !matches!(value.get_ref(), DeValue::Array(values) if values.len() == names.len());
    }
    Some(draft)
}

pub(super) fn idempotency(reader: &mut Reader<'_>, root: &Table<'_>) -> DraftIdempotency {
    let default = Idempotency::default();
    let mut draft = DraftIdempotency { derive: default.derive, reusable: Vec::new(), window: default.window };
    let Some(table) = reader.below(root, "idempotency", &["derive", "reusable", "window"]) else {
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
    if let Some(window) = table.get("window").and_then(|value| reader.span(value, "window", 1)) {
        draft.window = window;
    }
    draft
}

/// A part of a derived key must be something that every creation has.
fn derive_part(reader: &mut Reader<'_>, part: &At<String>) {
    let words = ["user_id", "type", "minute", "payload"];
    let path = part.value.strip_prefix("payload.");
    if words.contains(&part.value.as_str())
        || path.is_some_and(|path| path.split('.').all(|step| !step.is_empty()))
    {
        return;
    }
    let known =
        "a key is derived from user_id, type, minute, payload, or a part of it such as payload.prompt";
    let help = did_you_mean(&part.value, words)
        .map_or_else(|| known.to_owned(), |meant| format!("did you mean `{meant}`? {known}"));
    let message = format!("a key cannot be derived from `{}`", shown(&part.value));
    reader.flaws.add(RuleId::L1, message, &[(part.at, "unknown")], help);
}

pub(super) fn retention(reader: &mut Reader<'_>, root: &Table<'_>) -> Retention {
    let default = Retention::default();
    let Some(table) = reader.below(root, "retention", &["jobs", "telemetry"]) else { return default };
    let mut span =
        |key, default| table.get(key).and_then(|value| reader.span(value, key, 0)).unwrap_or(default);
    Retention { jobs: span("jobs", default.jobs), telemetry: span("telemetry", default.telemetry) }
}
