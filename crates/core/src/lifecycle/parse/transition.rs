//! Reads the `[[transitions]]`.

use toml::de::DeValue;

use super::super::flaw::{Located, RuleId, Span, suggestion};
use super::super::{Condition, Rule, Trigger};
use super::DraftTransition;
use super::reader::{DraftReader, KnownTable, TomlValue, shown};
use crate::api_key::Role;
use crate::dead_letter::ReasonCode;
use crate::limits;
use crate::text::did_you_mean;

const KEYS: &[&str] = &["on", "from", "when", "to", "event", "audit", "reason", "by"];

/// All transitions, and where they begin if there are any.
pub(super) fn read(
    reader: &mut DraftReader<'_>,
    root: &KnownTable<'_>,
) -> (Vec<DraftTransition>, Option<Span>) {
    let Some(value) = root.get("transitions") else {
        no_transitions(reader, root.at);
        return (Vec::new(), None);
    };
    let at = Span::from(value.span());
    let help = "write each one as a table with two brackets: [[transitions]]";
    let values: Vec<&TomlValue<'_>> = match value.get_ref() {
        DeValue::Array(values) if values.is_empty() => {
            no_transitions(reader, at);
            return (Vec::new(), None);
        }
        DeValue::Array(values) => values.iter().collect(),
        // `[transitions]` instead of `[[transitions]]` is read as a single transition.
        DeValue::Table(_) => {
            reader.wrong_type(value, "transitions", "a list of tables", help);
            vec![value]
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {
            reader.wrong_type(value, "transitions", "a list of tables", help);
            return (Vec::new(), None);
        }
    };
    let transitions: Vec<_> = values.into_iter().filter_map(|value| read_one(reader, value)).collect();
    let rules: usize = transitions.iter().map(|it| it.on.len() * it.from.as_ref().map_or(1, Vec::len)).sum();
    if rules > limits::RULES_MAX {
        let message =
            format!("there are {rules} rules with all lists expanded, more than {}", limits::RULES_MAX);
        reader.flaws.add(RuleId::Syntax, message, &[(at, "too many")], "split it into several lifecycles");
        return (Vec::new(), None);
    }
    (transitions, Some(at))
}

fn no_transitions(reader: &mut DraftReader<'_>, at: Span) {
    let message = "the file has no transitions, so no job can be created";
    let help = "start with the creation: [[transitions]], on = \"create\", to = the initial state";
    reader.flaws.add(RuleId::L2, message, &[(at, "none")], help);
}

fn read_one(reader: &mut DraftReader<'_>, value: &TomlValue<'_>) -> Option<DraftTransition> {
    let table = reader.table(value, "transitions")?;
    let table = reader.open(table, value.span().into(), "a transition", KEYS);
    let on = on(reader, &table);
    let from = table.get("from").map(|value| {
        let names = reader.texts(value, "from");
        not_empty(reader, value, "from", "name the states that it leaves");
        names
    });
    let to = to(reader, &table);
    let when = reader.optional_text(&table, "when").map(|text| when(reader, &text));
    let event = record_name(reader, &table, "event", "an event", "job_started");
    Some(DraftTransition {
        at: table.at,
        on,
        from,
        when,
        to,
        event_unreadable: event.is_none() && table.get("event").is_some(),
        event,
        audit: record_name(reader, &table, "audit", "an audit line", "DECLINED"),
        reason: reader.optional_text(&table, "reason").and_then(|text| reason(reader, &text)),
        by: by(reader, &table),
    })
}

fn on(reader: &mut DraftReader<'_>, table: &KnownTable<'_>) -> Vec<Located<Option<Trigger>>> {
    let Some(value) = table.get("on") else {
        let help = "add the trigger: on = \"claim\", \"succeed\", \"timeout\" …, or a custom signal, \"signal:approve\"";
        reader.flaws.add(RuleId::Syntax, "a transition has no `on`", &[(table.at, "no trigger")], help);
        return vec![Located { value: None, at: table.at }];
    };
    not_empty(reader, value, "on", "name the triggers");
    reader.texts(value, "on").into_iter().map(|text| trigger(reader, &text)).collect()
}

fn trigger(reader: &mut DraftReader<'_>, text: &Located<String>) -> Located<Option<Trigger>> {
    let known = Trigger::parse(&text.value).filter(|trigger| *trigger != Trigger::Amend);
    if known.is_some() {
        return Located { value: known, at: text.at };
    }
    if let Some(signal) = text.value.strip_prefix("signal:") {
        let name = Located { value: signal.to_owned(), at: text.at };
        let format = "lower-case letters, digits and `_`, starting with a letter: signal:approve";
        reader.bad_name(&name, "a signal", format);
        return Located { value: None, at: text.at };
    }
    let words = Trigger::ALL.map(|trigger| trigger.to_string());
    let meant = did_you_mean(&text.value, words.iter().map(String::as_str));
    let help = suggestion(meant, &format!("choose from {}, or `signal:…`", words.join(", ")));
    let message = format!("`{}` is not a trigger", shown(&text.value));
    reader.flaws.add(RuleId::L1, message, &[(text.at, "unknown")], help);
    Located { value: meant.and_then(Trigger::parse), at: text.at }
}

fn to(reader: &mut DraftReader<'_>, table: &KnownTable<'_>) -> Option<Located<String>> {
    if table.get("to").is_none() {
        let help = "add the state that it leads to: to = \"…\"";
        reader.flaws.add(RuleId::Syntax, "a transition has no `to`", &[(table.at, "no target")], help);
    }
    reader.optional_text(table, "to")
}

fn when(reader: &mut DraftReader<'_>, text: &Located<String>) -> Located<Option<Condition>> {
    let words = Condition::ALL.map(Condition::as_str);
    Located { value: reader.word(text, "a condition", &words, Condition::parse), at: text.at }
}

fn reason(reader: &mut DraftReader<'_>, text: &Located<String>) -> Option<Located<ReasonCode>> {
    let words = ReasonCode::ALL.map(ReasonCode::as_str);
    let code = reader.word(text, "a reason code", &words, ReasonCode::parse)?;
    Some(Located { value: code, at: text.at })
}

/// The roles that may send a signal. An unknown one is reported and left out.
fn by(reader: &mut DraftReader<'_>, table: &KnownTable<'_>) -> Option<Located<Vec<Role>>> {
    let value = table.get("by")?;
    not_empty(reader, value, "by", "name the roles that may send it, or remove the line");
    let words = Rule::SENDERS.map(Role::as_str);
    let names = reader.texts(value, "by");
    let role = |name: &Located<String>| reader.word(name, "a role that sends signals", &words, sender);
    Some(Located { value: names.iter().filter_map(role).collect(), at: value.span().into() })
}

fn sender(name: &str) -> Option<Role> {
    Rule::SENDERS.into_iter().find(|role| role.as_str() == name)
}

/// The name of an event or audit line: letters of either case, because existing clients may expect such names.
fn record_name(
    reader: &mut DraftReader<'_>,
    table: &KnownTable<'_>,
    key: &str,
    what: &str,
    example: &str,
) -> Option<String> {
    let name = reader.optional_text(table, key)?;
    let well_formed = name.value.len() <= limits::NAME_BYTES_MAX
        && name.value.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
    if !well_formed {
        let format = format!("letters, digits, `_`, `-`, `.` and `:`, starting with a letter: {example}");
        reader.bad_name(&name, what, &format);
        return None;
    }
    Some(name.value)
}

fn not_empty(reader: &mut DraftReader<'_>, value: &TomlValue<'_>, key: &str, help: &str) {
    if matches!(value.get_ref(), DeValue::Array(values) if values.is_empty()) {
        let message = format!("`{key}` is an empty list, so the transition never happens");
        reader.flaws.add(RuleId::Syntax, message, &[(value.span().into(), "empty")], help);
    }
}
