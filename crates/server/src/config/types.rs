//! `[types.NAME]`: every type with its policy. What can be known here is proved here, so that it is told with its
//! place: that the lifecycle is there, has the states and the credits, and that schema and guard compile.

use std::ops::Range;

use tenure_core::job_type::CATCH_ALL;
use tenure_core::lifecycle::{Lifecycle, Trigger};
use tenure_core::limits;
use tenure_core::time::Millis;
use tenure_runtime::{Definitions, TypeDefinition};
use toml::de::{DeTable, DeValue};

use super::flaw::{Site, Wrong};
use super::keys::TYPES;
use super::levels::Levels;
use super::lifecycles::Found;
use super::near::{did_you_mean, list, shown};
use super::reader::{Form, Reader, Table, Value};
use super::type_keys;
use super::value;

const KEYS: &[&str] = &[
    "lifecycle",
    "schema",
    "guard",
    "cost",
    "max_attempts",
    "lease",
    "heartbeat",
    "backoff",
    "cancel_grace",
    "priority",
    "queue",
    "compensate_with",
    "timeouts",
];

/// A type, and what is yet to be proved of it when all are known.
struct Draft<'t> {
    definition: TypeDefinition,
    table: Table<'t>,
}

/// The types that are declared; the catch-all alone if none is.
pub(super) fn load(
    levels: &mut Levels<'_>,
    said: Option<&Value<'_>>,
    found: &Found,
    payload: usize,
) -> Vec<TypeDefinition> {
    let mut drafts = Vec::new();
    if let (Some(said), Some(mut reader)) = (said, levels.reader())
        && let Some(types) = reader.table(said, TYPES)
    {
        drafts = read_all(&mut reader, types, found);
        check_compensations(&mut reader, &drafts);
    }
    for draft in &drafts {
        for (key, value) in &draft.table.entries {
            let name = format!("{TYPES}.{}.{key}", written(&draft.definition.name));
            let text = levels.source.map_or_else(String::new, |source| value_shown(value, &source.text));
            levels.set(&name, &text, Some(&Site::File(value.span())));
        }
    }
    let mut types: Vec<TypeDefinition> = drafts.into_iter().map(|draft| draft.definition).collect();
    if types.is_empty() {
        types = Definitions::default().types;
        for definition in &types {
            let name = format!("{TYPES}.{}.lifecycle", written(&definition.name));
            levels.set(&name, &definition.lifecycle, None);
        }
    }
    for definition in &mut types {
        definition.payload_bytes_max = Some(payload);
    }
    types
}

fn read_all<'t>(reader: &mut Reader<'_>, types: &'t DeTable<'t>, found: &Found) -> Vec<Draft<'t>> {
    let mut drafts = Vec::new();
    for (key, value) in types {
        let name = key.get_ref().as_ref();
        if let Err(wrong) = value::check_name(name, "a type") {
            reader.wrong(key.span(), wrong);
        }
        let path = format!("{TYPES}.{}", written(name));
        if let Some(table) = reader.table(value, &path) {
            let form = Form { what: &format!("[{path}]"), keys: KEYS };
            let table = reader.open(table, key.span(), &form);
            drafts.push(Draft { definition: read(reader, name, &table, found), table });
        }
    }
    drafts
}

fn read(reader: &mut Reader<'_>, name: &str, table: &Table<'_>, found: &Found) -> TypeDefinition {
    let mut definition = TypeDefinition::new(name, "");
    definition.lifecycle = reader.get(table, "lifecycle", value::text).unwrap_or_default();
    let lifecycle = lifecycle(reader, table, &definition, found);
    definition.schema = type_keys::schema(reader, table);
    definition.guard = type_keys::guard(reader, table);
    let number = |key, least, most, reader: &mut Reader<'_>| {
        reader.get(table, key, |raw| value::number(raw, least, most))
    };
    definition.cost = number("cost", 0, limits::CREDITS_MAX as i64, reader).unwrap_or(0) as u64;
    definition.max_attempts =
        number("max_attempts", 1, i64::from(limits::ATTEMPTS_MAX), reader).map(|number| number as u32);
    let most = i64::from(limits::PRIORITY_MAX);
    definition.priority = number("priority", -most, most, reader).unwrap_or(0) as i32;
    let span =
        |key, least, reader: &mut Reader<'_>| reader.get(table, key, |raw| value::span(raw, Millis(least)));
    definition.lease = span("lease", limits::LEASE_MS_MIN, reader);
    definition.heartbeat = span("heartbeat", 1, reader);
    definition.cancel_grace = span("cancel_grace", 0, reader);
    definition.queue = reader.get(table, "queue", value::name);
    definition.compensate_with = reader.get(table, "compensate_with", value::name);
    let usual = lifecycle.map(|lifecycle| lifecycle.policy.backoff).unwrap_or_default();
    definition.backoff = type_keys::backoff(reader, table, usual);
    definition.timeouts = timeouts(reader, table, lifecycle);
    if let (Some(lifecycle), Some(cost)) = (lifecycle, table.get("cost").filter(|_| definition.cost > 0))
        && lifecycle.credits.is_none()
    {
        let message = format!("a cost is charged to credits, and lifecycle {} has none", lifecycle.name);
        reader.wrong(cost.span(), Wrong::new(message, "remove the cost, or add [credits] to the lifecycle"));
    }
    definition
}

/// The lifecycle that a type follows, if it says one that is there.
fn lifecycle<'f>(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    definition: &TypeDefinition,
    found: &'f Found,
) -> Option<&'f Lifecycle> {
    let names = || -> Vec<&str> {
        let mut names: Vec<&str> = found.lifecycles.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let Some(said) = table.get("lifecycle") else {
        let message = format!("type {} does not say its `lifecycle`", shown(&definition.name));
        reader.wrong(table.at.clone(), Wrong::new(message, format!("there are {}", list(&names()))));
        return None;
    };
    let lifecycle = found.newest(&definition.lifecycle);
    if lifecycle.is_none() && !definition.lifecycle.is_empty() && !found.is_partial {
        let message = format!("there is no lifecycle `{}`", shown(&definition.lifecycle));
        let help = value::meant_or_list(&definition.lifecycle, &names());
        reader.wrong(said.span(), Wrong::new(message, help));
    }
    lifecycle
}

/// `timeouts = { queued = "5s" }`: of states that the lifecycle lets time out.
fn timeouts(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    lifecycle: Option<&Lifecycle>,
) -> Vec<(String, Millis)> {
    let Some(value) = table.get("timeouts") else { return Vec::new() };
    let Some(states) = reader.table(value, "timeouts") else { return Vec::new() };
    let mut timeouts = Vec::new();
    for (key, value) in states {
        let state = key.get_ref().as_ref();
        if let Some(lifecycle) = lifecycle {
            check_timed(reader, state, key.span(), lifecycle);
        }
        if let Some(span) = type_keys::span(reader, value, state, Millis(1)) {
            timeouts.push((state.to_owned(), span));
        }
    }
    timeouts
}

fn check_timed(reader: &mut Reader<'_>, state: &str, at: Range<usize>, lifecycle: &Lifecycle) {
    if lifecycle.has_rule(state, &Trigger::Timeout) {
        return;
    }
    let names = lifecycle.states.iter().map(|state| state.name.as_str());
    let timed: Vec<&str> = names.filter(|name| lifecycle.has_rule(name, &Trigger::Timeout)).collect();
    let of = &lifecycle.name;
    let message = if lifecycle.state(state).is_some() {
        format!("lifecycle {of} has no rule for a timeout in `{state}`")
    } else {
        format!("lifecycle {of} has no state `{}`", shown(state))
    };
    let help = match did_you_mean(state, timed.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if timed.is_empty() => format!("nothing times out in {of}"),
        None => format!("it has timeouts in {}", list(&timed)),
    };
    reader.wrong(at, Wrong::new(message, help));
}

/// A compensation is of a type that is there.
fn check_compensations(reader: &mut Reader<'_>, drafts: &[Draft<'_>]) {
    let names: Vec<&str> = drafts.iter().map(|draft| draft.definition.name.as_str()).collect();
    if names.contains(&CATCH_ALL) {
        return;
    }
    for draft in drafts {
        let said = draft.definition.compensate_with.as_deref().zip(draft.table.get("compensate_with"));
        if let Some((with, value)) = said.filter(|(with, _)| !names.contains(with)) {
            let message = format!("there is no type `{}` to compensate with", shown(with));
            let help = value::meant_or_list(with, &names);
            reader.wrong(value.span(), Wrong::new(message, help));
        }
    }
}

/// A name as it stands in a heading: bare if it may be.
fn written(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { name.to_owned() } else { format!("\"{}\"", name.escape_debug()) }
}

/// A value on one line: a text as it is, anything else as it stands in the file.
fn value_shown(value: &Value<'_>, source: &str) -> String {
    match value.get_ref() {
        DeValue::String(text) => shown(text),
        DeValue::Table(_) if !source[value.span()].starts_with('{') => "a table".to_owned(),
        DeValue::Table(_)
        | DeValue::Array(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => shown(&source[value.span()]),
    }
}
