//! The `[[transitions]]`.

use toml::de::DeValue;

use super::super::flaw::{At, RuleId, Span};
use super::super::{Condition, Trigger};
use super::DraftTransition;
use super::reader::{Reader, Table, Value, shown};
use crate::dead_letter::ReasonCode;
use crate::limits;
use crate::text::did_you_mean;

const KEYS: &[&str] = &["on", "from", "when", "to", "event", "audit", "reason"];

/// Every one, and where they begin if there are any.
pub(super) fn read(reader: &mut Reader<'_>, root: &Table<'_>) -> (Vec<DraftTransition>, Option<Span>) {
    let Some(value) = root.get("transitions") else {
        no_transitions(reader, root.at);
        return (Vec::new(), None);
    };
    let at = Span::from(value.span());
    let values: Vec<&Value<'_>> = match value.get_ref() {
        DeValue::Array(values) if values.is_empty() => {
            no_transitions(reader, at);
            return (Vec::new(), None);
        }
        DeValue::Array(values) => values.iter().collect(),
        // `[transitions]` for `[[transitions]]`: one of them is meant.
        DeValue::Table(_) => {
            reader.wrong_type(
                value,
                "transitions",
                "a list of tables",
                "write it with two brackets: [[transitions]]",
            );
            vec![value]
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {
            reader.wrong_type(
                value,
                "transitions",
                "a list of tables",
                "write each as a table: [[transitions]]",
            );
            return (Vec::new(), None);
        }
    };
    let transitions: Vec<_> = values.into_iter().filter_map(|value| read_one(reader, value)).collect();
    let rules: usize = transitions.iter().map(|it| it.on.len() * it.from.as_ref().map_or(1, Vec::len)).sum();
    if rules > limits::RULES_MAX {
        let message = format!(
            "there are {rules} rules with all lists written out, and {} are the most",
            limits::RULES_MAX
        );
        reader.flaws.add(RuleId::Syntax, message, &[(at, "too many")], "split it into several lifecycles");
        return (Vec::new(), None);
    }
    (transitions, Some(at))
}

fn no_transitions(reader: &mut Reader<'_>, at: Span) {
    let help =
        "begin with the one that every job makes: [[transitions]], on = \"create\", to = the initial state";
    reader.flaws.add(
        RuleId::L2,
        "the file has no transitions, so no job can be created",
        &[(at, "none")],
        help,
    );
}

fn read_one(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<DraftTransition> {
    let table = reader.table(value, "transitions")?;
    let table = reader.open(table, value.span().into(), "a transition", KEYS);
    let on = on(reader, &table);
    let from = table.get("from").map(|value| {
        let names = reader.texts(value, "from");
        not_empty(reader, value, "from", "name the states that it leaves");
        names
    });
    let to = to(reader, &table);
    let when = table.get("when").and_then(|value| when(reader, value));
    let event = record_name(reader, &table, "event", "an event", "job_started");
    Some(DraftTransition {
        at: table.at,
        on,
        from,
        when,
        to,
        event_told: event.is_none() && table.get("event").is_some(),
        event,
        audit: record_name(reader, &table, "audit", "an audit line", "DECLINED"),
        reason: table.get("reason").and_then(|value| reason(reader, value)),
    })
}

fn on(reader: &mut Reader<'_>, table: &Table<'_>) -> Vec<At<Option<Trigger>>> {
    let Some(value) = table.get("on") else {
        let help = "say what happens: on = \"claim\", \"succeed\", \"timeout\" …, or a signal of your own, \"signal:approve\"";
        reader.flaws.add(RuleId::Syntax, "a transition without `on`", &[(table.at, "on what?")], help);
        return vec![At { value: None, at: table.at }];
    };
    not_empty(reader, value, "on", "name the triggers");
    reader.texts(value, "on").into_iter().map(|text| trigger(reader, &text)).collect()
}

fn trigger(reader: &mut Reader<'_>, text: &At<String>) -> At<Option<Trigger>> {
    let known = Trigger::parse(&text.value);
    if known.is_some() {
        return At { value: known, at: text.at };
    }
    if let Some(signal) = text.value.strip_prefix("signal:") {
        let name = At { value: signal.to_owned(), at: text.at };
        reader.bad_name(&name, "a signal", "small letters, digits and `_`, a letter first: signal:approve");
        return At { value: None, at: text.at };
    }
    let words = Trigger::ALL.map(|trigger| trigger.to_string());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let meant = did_you_mean(&text.value, words.iter().copied());
    let known = format!("there are {}, and `signal:…` for your own", words.join(", "));
    let help = meant.map_or_else(|| known.clone(), |meant| format!("did you mean `{meant}`? {known}"));
    let message = format!("`{}` is not a trigger", shown(&text.value));
    reader.flaws.add(RuleId::L1, message, &[(text.at, "unknown")], help);
    At { value: meant.and_then(Trigger::parse), at: text.at }
}

fn to(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<At<String>> {
    let Some(value) = table.get("to") else {
        let help = "name the one state that it leads to: to = \"…\"";
        reader.flaws.add(RuleId::Syntax, "a transition without `to`", &[(table.at, "where to?")], help);
        return None;
    };
    reader.text(value, "to")
}

fn when(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<At<Option<Condition>>> {
    let text = reader.text(value, "when")?;
    let parse = |word: &str| match word {
        "retry" => Some(Condition::Retry),
        "exhausted" => Some(Condition::Exhausted),
        _ => None,
    };
    let known = parse(&text.value);
    if known.is_some() {
        return Some(At { value: known, at: text.at });
    }
    let words = ["retry", "exhausted"];
    let meant = did_you_mean(&text.value, words);
    reader.unknown_word(&text, "a condition", &words, meant);
    Some(At { value: meant.and_then(parse), at: text.at })
}

fn reason(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<At<ReasonCode>> {
    let text = reader.text(value, "reason")?;
    let known = ReasonCode::parse(&text.value);
    if let Some(code) = known {
        return Some(At { value: code, at: text.at });
    }
    let words = ReasonCode::ALL.map(ReasonCode::as_str);
    let meant = did_you_mean(&text.value, words);
    reader.unknown_word(&text, "a reason code", &words, meant);
    let code = meant.and_then(ReasonCode::parse)?;
    Some(At { value: code, at: text.at })
}

/// The name of a record: letters of either case, since files speak the words that their clients already use.
fn record_name(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    key: &str,
    what: &str,
    sample: &str,
) -> Option<String> {
    let name = reader.text(table.get(key)?, key)?;
    let well_formed = name.value.len() <= limits::NAME_BYTES_MAX
        && name.value.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
    if !well_formed {
        reader.bad_name(
            &name,
            what,
            &format!("letters, digits, `_`, `-`, `.` and `:`, a letter first: {sample}"),
        );
        return None;
    }
    Some(name.value)
}

fn not_empty(reader: &mut Reader<'_>, value: &Value<'_>, key: &str, help: &str) {
    if matches!(value.get_ref(), DeValue::Array(values) if values.is_empty()) {
        let message = format!("`{key}` is an empty list, so the transition never happens");
        reader.flaws.add(RuleId::Syntax, message, &[(value.span().into(), "empty")], help);
    }
}
