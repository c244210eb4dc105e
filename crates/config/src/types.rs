//! Reads `[types.NAME]`. Whatever can be checked here is, so that flaws have a place: the lifecycle exists and has the
//! states and credits that the type needs, and schema and guard compile.

use std::collections::BTreeMap;
use std::ops::Range;

use tenure_core::flow::Declarations;
use tenure_core::job_type::{CATCH_ALL, compensation_cycle};
use tenure_core::lifecycle::{Lifecycle, Trigger};
use tenure_core::limits;
use tenure_core::time::Millis;
use tenure_runtime::{Definitions, TypeDefinition};
use toml::de::{DeTable, DeValue};

use crate::flaw::{Site, ValueError};
use crate::flow::{self, FlowDraft};
use crate::flow_keys;
use crate::keys::TYPES;
use crate::layers::Layers;
use crate::lifecycles::LoadedLifecycles;
use crate::reader::{Reader, Table, TableShape, Value};
use crate::text::{did_you_mean, list, printable, suggestion};
use crate::type_keys;
use crate::value;

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
    "unique",
    "uses",
    "sequence",
    "batch",
];

/// A type and its table, for the checks that need all types.
struct Draft<'t> {
    definition: TypeDefinition,
    table: Table<'t>,
    flow: FlowDraft<'t>,
}

/// The declared types; only the catch-all if there are none.
pub(crate) fn load(
    layers: &mut Layers<'_>,
    types: Option<&Value<'_>>,
    lifecycles: &LoadedLifecycles,
    payload: usize,
    declarations: &mut Declarations,
) -> Vec<TypeDefinition> {
    let mut drafts = Vec::new();
    if let (Some(types), Some(mut reader)) = (types, layers.reader())
        && let Some(types) = reader.table(types, TYPES)
    {
        drafts = read_all(&mut reader, types, lifecycles);
        check_compensations(&mut reader, &drafts);
        flow::check_uses(&mut reader, drafts.iter().map(|draft| &draft.flow), declarations);
    }
    for draft in &drafts {
        for (key, value) in &draft.table.entries {
            let name = format!("{TYPES}.{}.{key}", toml_key(&draft.definition.name));
            let text = layers.source.map_or_else(String::new, |source| value_text(value, &source.text));
            layers.record(&name, &text, Some(&Site::File(value.span())));
        }
    }
    // A declared type has none of the flow control of the catch-all type, so it needs an entry beside it.
    let of_others = drafts.iter().any(|draft| draft.definition.name == CATCH_ALL && !draft.flow.is_empty());
    for Draft { definition, flow, .. } in drafts.iter().filter(|draft| of_others || !draft.flow.is_empty()) {
        declarations.types.insert(definition.name.as_str().into(), flow.flow.clone());
    }
    let mut types: Vec<TypeDefinition> = drafts.into_iter().map(|draft| draft.definition).collect();
    if types.is_empty() {
        types = Definitions::default().types;
        for definition in &types {
            let name = format!("{TYPES}.{}.lifecycle", toml_key(&definition.name));
            layers.record(&name, &definition.lifecycle, None);
        }
    }
    for definition in &mut types {
        definition.payload_bytes_max = Some(payload);
    }
    types
}

fn read_all<'t>(
    reader: &mut Reader<'_>,
    types: &'t DeTable<'t>,
    lifecycles: &LoadedLifecycles,
) -> Vec<Draft<'t>> {
    let mut drafts = Vec::new();
    for (key, value) in types {
        let name = key.get_ref().as_ref();
        if let Err(error) = value::check_name(name, "a type") {
            reader.add_flaw(key.span(), error);
        }
        let path = format!("{TYPES}.{}", toml_key(name));
        if let Some(table) = reader.table(value, &path) {
            let shape = TableShape { place: &format!("[{path}]"), keys: KEYS };
            let table = reader.open(table, key.span(), &shape);
            let (definition, flow) = (read(reader, name, &table, lifecycles), flow::of_type(reader, &table));
            drafts.push(Draft { definition, table, flow });
        }
    }
    drafts
}

fn read(
    reader: &mut Reader<'_>,
    name: &str,
    table: &Table<'_>,
    lifecycles: &LoadedLifecycles,
) -> TypeDefinition {
    let mut definition = TypeDefinition::new(name, "");
    definition.lifecycle = reader.get(table, "lifecycle", value::text).unwrap_or_default();
    let lifecycle = find_lifecycle(reader, table, &definition, lifecycles);
    definition.schema = type_keys::schema(reader, table);
    definition.guard = type_keys::guard(reader, table);
    let (attempts, priority) = (i64::from(limits::ATTEMPTS_MAX), i64::from(limits::PRIORITY_MAX));
    definition.cost = reader.get(table, "cost", value::number(0, limits::CREDITS_MAX as i64)).unwrap_or(0);
    definition.max_attempts = reader.get(table, "max_attempts", value::number(1, attempts));
    definition.priority = reader.get(table, "priority", value::number(-priority, priority)).unwrap_or(0);
    definition.lease = reader.get(table, "lease", value::duration(Millis(limits::LEASE_MS_MIN)));
    definition.heartbeat = reader.get(table, "heartbeat", value::duration(Millis(1)));
    definition.cancel_grace = reader.get(table, "cancel_grace", value::duration(Millis(0)));
    definition.queue = reader.get(table, "queue", value::name);
    definition.compensate_with = reader.get(table, "compensate_with", value::name);
    let default = lifecycle.map(|lifecycle| lifecycle.policy.backoff).unwrap_or_default();
    definition.backoff = type_keys::backoff(reader, table, default);
    definition.timeouts = timeouts(reader, table, lifecycle);
    definition.unique = flow_keys::unique(reader, table, lifecycle);
    if let (Some(lifecycle), Some(cost)) = (lifecycle, table.get("cost").filter(|_| definition.cost > 0))
        && lifecycle.credits.is_none()
    {
        let message = format!("lifecycle {} has no credits to charge a cost to", lifecycle.name);
        let help = "remove the cost, or add [credits] to the lifecycle";
        reader.add_flaw(cost.span(), ValueError::new(message, help));
    }
    definition
}

/// The lifecycle that a type names, if it exists.
fn find_lifecycle<'f>(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    definition: &TypeDefinition,
    lifecycles: &'f LoadedLifecycles,
) -> Option<&'f Lifecycle> {
    let names = || -> Vec<&str> {
        let mut names: Vec<&str> = lifecycles.lifecycles.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let Some(value) = table.get("lifecycle") else {
        let message = format!("type {} has no `lifecycle`", printable(&definition.name));
        let help = format!("available: {}", list(&names()));
        reader.add_flaw(table.at.clone(), ValueError::new(message, help));
        return None;
    };
    let lifecycle = lifecycles.newest(&definition.lifecycle);
    if lifecycle.is_none() && !definition.lifecycle.is_empty() && !lifecycles.is_partial {
        let message = format!("no lifecycle is named `{}`", printable(&definition.lifecycle));
        let help = suggestion(&definition.lifecycle, &names());
        reader.add_flaw(value.span(), ValueError::new(message, help));
    }
    lifecycle
}

/// `timeouts = { queued = "5s" }`, for states with a timeout rule.
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
            check_timeout(reader, state, key.span(), lifecycle);
        }
        let timeout = reader.parse(value, state, value::duration(Millis(1)));
        timeouts.extend(timeout.map(|timeout| (state.to_owned(), timeout)));
    }
    timeouts
}

fn check_timeout(reader: &mut Reader<'_>, state: &str, at: Range<usize>, lifecycle: &Lifecycle) {
    if lifecycle.has_rule(state, &Trigger::Timeout) {
        return;
    }
    let names = lifecycle.states.iter().map(|state| state.name.as_str());
    let timed: Vec<&str> = names.filter(|name| lifecycle.has_rule(name, &Trigger::Timeout)).collect();
    let name = &lifecycle.name;
    let message = if lifecycle.state(state).is_some() {
        format!("lifecycle {name} has no timeout rule for state `{state}`")
    } else {
        format!("lifecycle {name} has no state `{}`", printable(state))
    };
    let help = match did_you_mean(state, timed.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if timed.is_empty() => format!("no state of {name} has a timeout"),
        None => format!("states with a timeout: {}", list(&timed)),
    };
    reader.add_flaw(at, ValueError::new(message, help));
}

/// `compensate_with` must name a declared type, and no type may compensate itself through others.
fn check_compensations(reader: &mut Reader<'_>, drafts: &[Draft<'_>]) {
    let names: Vec<&str> = drafts.iter().map(|draft| draft.definition.name.as_str()).collect();
    let pairs = drafts.iter().map(|draft| &draft.definition).map(|it| (&*it.name, &it.compensate_with));
    let compensations: BTreeMap<&str, _> = pairs.collect();
    let with = |name: &str| compensations.get(name)?.as_deref();
    for draft in drafts.iter().filter(|draft| draft.definition.name != CATCH_ALL) {
        let Some(value) = draft.table.get("compensate_with") else { continue };
        let cycle = compensation_cycle(&draft.definition.name, with);
        // Each cycle once, at the first of its types.
        if let Some(cycle) = cycle.filter(|cycle| cycle.iter().min() == cycle.first()) {
            let cycle = cycle.into_iter().map(printable).collect::<Vec<_>>().join(" → ");
            let message = format!("compensations without end: {cycle}");
            let help = "remove `compensate_with` from one of these types";
            reader.add_flaw(value.span(), ValueError::new(message, help));
        }
    }
    if names.contains(&CATCH_ALL) {
        return;
    }
    for draft in drafts {
        let with = draft.definition.compensate_with.as_deref().zip(draft.table.get("compensate_with"));
        if let Some((with, value)) = with.filter(|(with, _)| !names.contains(with)) {
            let message = format!("no type is named `{}`", printable(with));
            let help = suggestion(with, &names);
            reader.add_flaw(value.span(), ValueError::new(message, help));
        }
    }
}

/// A name as a TOML key: bare if possible.
pub(crate) fn toml_key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { name.to_owned() } else { format!("\"{}\"", name.escape_debug()) }
}

/// A value on one line: a string without quotes, anything else as in the file.
pub(crate) fn value_text(value: &Value<'_>, source: &str) -> String {
    match value.get_ref() {
        DeValue::String(text) => printable(text),
        DeValue::Table(_) if !source[value.span()].starts_with('{') => "a table".to_owned(),
        _ => printable(&source[value.span()]),
    }
}
