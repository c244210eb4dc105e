//! Reads the `[states]` table.

use toml::de::DeValue;

use super::super::flaw::{Located, RuleId, Span};
use super::super::{Outcome, Phase, Timeout, is_state_name};
use super::DraftState;
use super::reader::{DraftReader, KnownTable, TomlValue, shown};
use crate::limits;

const ROLES: [&str; 4] = ["ready", "held", "active", "waiting"];

/// All states, and where the table begins if it could be read.
pub(super) fn read(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> (Vec<DraftState>, Option<Span>) {
    let help = "declare them in [states]: queued = { role = \"ready\" }, and at least one with an outcome";
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
        let message = format!("there are {} states, more than {}", table.len(), limits::STATES_MAX);
        reader.flaws.add(RuleId::Syntax, message, &[(at, "too many")], "split it into several lifecycles");
        return (Vec::new(), None);
    }
    let states = table.iter().map(|(key, value)| {
        let name = Located { value: key.get_ref().to_string(), at: Span::from(key.span()) };
        read_one(reader, name, value)
    });
    (states.collect(), Some(at))
}

fn read_one(reader: &mut DraftReader<'_>, name: Located<String>, value: &TomlValue<'_>) -> DraftState {
    check_name(reader, &name, "in_review");
    let DeValue::Table(table) = value.get_ref() else {
        let help = format!("write it as a table: {} = {{ role = \"ready\" }}", shown(&name.value));
        reader.wrong_type(value, &shown(&name.value), "a table", &help);
        return DraftState { name, phase: None, timeout: None, timeout_present: true, alias: None };
    };
    let table = reader.open(table, name.at, "a state", &["role", "outcome", "timeout", "alias"]);
    let phase = phase(reader, &table, &name);
    let timeout = table.get("timeout").and_then(|value| timeout(reader, value));
    let alias = reader.optional_text(&table, "alias");
    if let Some(alias) = &alias {
        check_name(reader, alias, "started");
    }
    DraftState { name, phase, timeout, timeout_present: table.get("timeout").is_some(), alias }
}

fn check_name(reader: &mut DraftReader<'_>, name: &Located<String>, example: &str) {
    if !is_state_name(&name.value) {
        let format = format!("lower-case letters, digits and `_`, starting with a letter: {example}");
        reader.bad_name(name, "a state", &format);
    }
}

fn phase(
    reader: &mut DraftReader<'_>,
    table: &KnownTable<'_>,
    name: &Located<String>,
) -> Option<Located<Phase>> {
    match (table.get("role"), table.get("outcome")) {
        (Some(value), None) => {
            let text = reader.text(value, "role")?;
            role(reader, &text).map(|phase| Located { value: phase, at: text.at })
        }
        (None, Some(value)) => {
            let text = reader.text(value, "outcome")?;
            let words = Outcome::ALL.map(Outcome::as_str);
            let outcome = reader.word(&text, "an outcome", &words, Outcome::parse)?;
            Some(Located { value: Phase::Final(outcome), at: text.at })
        }
        (Some(role), Some(outcome)) => {
            let message = format!("`{}` has a role and an outcome", shown(&name.value));
            let places = [
                (Span::from(outcome.span()), "this makes it final"),
                (Span::from(role.span()), "this makes it not final"),
            ];
            let help = "keep `outcome` if the job is finished in this state, otherwise `role`";
            reader.flaws.add(RuleId::L2, message, &places, help);
            None
        }
        (None, None) => {
            let message = format!("`{}` has neither a role nor an outcome", shown(&name.value));
            let help = "add `role = \"ready\"`, \"held\", \"active\" or \"waiting\"; or, if the job is finished in this \
                        state, an `outcome` such as \"succeeded\"";
            reader.flaws.add(RuleId::L2, message, &[(name.at, "no role and no outcome")], help);
            None
        }
    }
}

fn role(reader: &mut DraftReader<'_>, text: &Located<String>) -> Option<Phase> {
    if Outcome::parse(&text.value).is_some() || text.value == "final" {
        let message = format!("`{}` is not a role: a final state has an outcome instead", text.value);
        let outcome = if text.value == "final" { "succeeded" } else { &text.value };
        let help = format!("write outcome = \"{outcome}\" instead of the role");
        reader.flaws.add(RuleId::L1, message, &[(text.at, "not a role")], help);
        return Outcome::parse(&text.value).map(Phase::Final);
    }
    reader.word(text, "a role", &ROLES, |word| Phase::parse(word, None))
}

fn timeout(reader: &mut DraftReader<'_>, value: &TomlValue<'_>) -> Option<Located<Timeout>> {
    let text = reader.duration_text(value, "timeout")?;
    let timeout = if text.value == "never" {
        Timeout::Never
    } else {
        Timeout::After(reader.parse_duration(&text, "timeout", 1)?)
    };
    Some(Located { value: timeout, at: text.at })
}
