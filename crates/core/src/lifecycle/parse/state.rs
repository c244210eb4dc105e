//! The `[states]` table.

use toml::de::DeValue;

use super::super::flaw::{At, RuleId, Span};
use super::super::{Outcome, Phase, Timeout, is_state_name};
use super::DraftState;
use super::reader::{Reader, Table, Value, shown};
use crate::limits;
use crate::text::did_you_mean;

const ROLES: [&str; 4] = ["ready", "held", "active", "waiting"];

/// Every state, and where the table begins if there is one that can be read.
pub(super) fn read(reader: &mut Reader<'_>, root: &Table<'_>) -> (Vec<DraftState>, Option<Span>) {
    let help =
        "declare them in [states]: queued = { role = \"ready\" }, and at least one that has an outcome";
    let Some(value) = root.get("states") else {
        reader.flaws.add(RuleId::L2, "the file declares no states", &[(root.at, "no [states] below")], help);
        return (Vec::new(), None);
    };
    let Some(table) = reader.table(value, "states") else { return (Vec::new(), None) };
    let at = Span::from(value.span());
    if table.is_empty() {
        reader.flaws.add(RuleId::L2, "the file declares no states", &[(at, "empty")], help);
        return (Vec::new(), None);
    }
    if table.len() > limits::STATES_MAX {
        let message = format!("there are {} states, and {} are the most", table.len(), limits::STATES_MAX);
        reader.flaws.add(RuleId::Syntax, message, &[(at, "too many")], "split it into several lifecycles");
        return (Vec::new(), None);
    }
    let states = table
        .iter()
        .map(|(key, value)| {
            let name = At { value: key.get_ref().to_string(), at: Span::from(key.span()) };
            read_one(reader, name, value)
        })
        .collect();
    (states, Some(at))
}

fn read_one(reader: &mut Reader<'_>, name: At<String>, value: &Value<'_>) -> DraftState {
    if !is_state_name(&name.value) {
        reader.bad_name(&name, "a state", "small letters, digits and `_`, a letter first: in_review");
    }
    let DeValue::Table(table) = value.get_ref() else {
        let help = format!("write it as a table: {} = {{ role = \"ready\" }}", shown(&name.value));
        reader.wrong_type(value, &shown(&name.value), "a table", &help);
        return DraftState { name, phase: None, timeout: None, timeout_told: true, alias: None };
    };
    let table = reader.open(table, name.at, "a state", &["role", "outcome", "timeout", "alias"]);
    let phase = phase(reader, &table, &name);
    let timeout = table.get("timeout").and_then(|value| timeout(reader, value));
    let alias = table.get("alias").and_then(|value| reader.text(value, "alias"));
    if let Some(alias) = alias.as_ref().filter(|alias| !is_state_name(&alias.value)) {
        reader.bad_name(alias, "a state", "small letters, digits and `_`, a letter first: started");
    }
    DraftState { name, phase, timeout, timeout_told: table.get("timeout").is_some(), alias }
}

fn phase(reader: &mut Reader<'_>, table: &Table<'_>, name: &At<String>) -> Option<At<Phase>> {
    match (table.get("role"), table.get("outcome")) {
        (Some(value), None) => {
            let text = reader.text(value, "role")?;
            role(reader, &text).map(|phase| At { value: phase, at: text.at })
        }
        (None, Some(value)) => {
            let text = reader.text(value, "outcome")?;
            outcome(reader, &text).map(|outcome| At { value: Phase::Final(outcome), at: text.at })
        }
        (Some(role), Some(outcome)) => {
            let message = format!("`{}` has a role and an outcome", shown(&name.value));
            let places = [
                (Span::from(outcome.span()), "this makes it final"),
                (Span::from(role.span()), "this says what may happen in it"),
            ];
            let help = "a job in a final state is over: keep the `outcome` if it is, else the `role`";
            reader.flaws.add(RuleId::L2, message, &places, help);
            None
        }
        (None, None) => {
            let message = format!("`{}` has neither a role nor an outcome", shown(&name.value));
            let help = "give it `role = \"ready\"`, \"held\", \"active\" or \"waiting\"; or, if a job is over in it, an \
                        `outcome` such as \"succeeded\"";
            reader.flaws.add(RuleId::L2, message, &[(name.at, "what may happen here?")], help);
            None
        }
    }
}

fn role(reader: &mut Reader<'_>, text: &At<String>) -> Option<Phase> {
    let meant = did_you_mean(&text.value, ROLES);
    if let Some(phase) = Phase::parse(&text.value, None) {
        return Some(phase);
    }
    if Outcome::parse(&text.value).is_some() || text.value == "final" {
        let message = format!("`{}` is not a role: a final state has an outcome instead", text.value);
        let outcome = if text.value == "final" { "succeeded" } else { &text.value };
        let help = format!("write outcome = \"{outcome}\" instead of the role");
        reader.flaws.add(RuleId::L1, message, &[(text.at, "not a role")], help);
        return Outcome::parse(&text.value).map(Phase::Final);
    }
    reader.unknown_word(text, "a role", &ROLES, meant);
    meant.and_then(|meant| Phase::parse(meant, None))
}

fn outcome(reader: &mut Reader<'_>, text: &At<String>) -> Option<Outcome> {
    let known = Outcome::parse(&text.value);
    if known.is_none() {
        let words = Outcome::ALL.map(Outcome::as_str);
        let meant = did_you_mean(&text.value, words);
        reader.unknown_word(text, "an outcome", &words, meant);
        return meant.and_then(Outcome::parse);
    }
    known
}

fn timeout(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<At<Timeout>> {
    let text = reader.duration_text(value, "timeout")?;
    let timeout = if text.value == "never" {
        Timeout::Never
    } else {
        Timeout::After(reader.parse_span(&text, "timeout", 1)?)
    };
    Some(At { value: timeout, at: text.at })
}
