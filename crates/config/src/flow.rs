//! Reads `[resources.NAME]` and `[queues.NAME]`, and the keys of a type that declare flow control over them.

use std::collections::BTreeMap;

use tenure_core::flow::{
    Batch, Declarations, Limits, OnFailure, QueueFlow, Rate, Resource, ResourceDemand, Sequence, Share,
    TypeFlow,
};
use tenure_core::id::{QueueName, ResourceName};
use tenure_core::limits;
use toml::de::{DeTable, DeValue};

use crate::flaw::{Site, ValueError};
use crate::flow_keys::{key_expression, span};
use crate::keys::{QUEUES, RESOURCES};
use crate::layers::Layers;
use crate::reader::{Reader, Table, TableShape, Value};
use crate::text::{list, printable, suggestion};
use crate::types::{toml_key, value_text};
use crate::value;

const COUNT_MAX: i64 = limits::FLOW_COUNT_MAX as i64;
const RESOURCE_KEYS: &[&str] = &["key", "running", "rate", "waiting"];
const QUEUE_KEYS: &[&str] = &["share", "aging"];
const RATE: TableShape<'_> = TableShape { place: "rate", keys: &["count", "per", "burst"] };
const DEMAND: TableShape<'_> = TableShape { place: "uses", keys: &["resource", "units"] };
const SEQUENCE: TableShape<'_> = TableShape { place: "sequence", keys: &["key", "on_failure"] };
const BATCH: TableShape<'_> = TableShape { place: "batch", keys: &["size", "wait", "key"] };
const SHARE: TableShape<'_> = TableShape { place: "share", keys: &["key", "weights", "default_weight"] };

/// The flow control of a type and its table, for the checks that need all resources.
pub(crate) struct FlowDraft<'t> {
    pub(crate) flow: TypeFlow,
    uses: Option<&'t Value<'t>>,
}

impl FlowDraft<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.flow == TypeFlow::default()
    }
}

/// All resources and queues. Types come later, since they name resources.
pub(crate) fn load(
    layers: &mut Layers<'_>,
    resources: Option<&Value<'_>>,
    queues: Option<&Value<'_>>,
) -> Declarations {
    let mut declarations = Declarations::default();
    for (name, table, resource) in tables(layers, resources, RESOURCES, RESOURCE_KEYS, resource) {
        record(layers, RESOURCES, &name, &table);
        declarations.resources.insert(ResourceName::from(name), resource);
    }
    for (name, table, queue) in tables(layers, queues, QUEUES, QUEUE_KEYS, queue) {
        record(layers, QUEUES, &name, &table);
        declarations.queues.insert(QueueName::from(name), queue);
    }
    declarations
}

/// Reads each table below a section.
fn tables<'t, T>(
    layers: &mut Layers<'_>,
    section: Option<&'t Value<'t>>,
    place: &str,
    keys: &[&'static str],
    read: fn(&mut Reader<'_>, &str, &Table<'_>) -> T,
) -> Vec<(String, Table<'t>, T)> {
    let (Some(section), Some(mut reader)) = (section, layers.reader()) else { return Vec::new() };
    let Some(entries) = reader.table(section, place) else { return Vec::new() };
    if entries.len() > limits::RESOURCES_MAX && place == RESOURCES {
        let message = format!("{} resources are declared", entries.len());
        let help = format!("the maximum is {}; use a key instead", limits::RESOURCES_MAX);
        reader.add_flaw(section.span(), ValueError::new(message, help));
    }
    let mut found = Vec::new();
    for (key, value) in entries {
        let name = key.get_ref().as_ref();
        if let Err(error) = value::check_name(name, "a resource or queue") {
            reader.add_flaw(key.span(), error);
        }
        let path = format!("{place}.{}", toml_key(name));
        if let Some(table) = reader.table(value, &path) {
            let table = reader.open(table, key.span(), &TableShape { place: &format!("[{path}]"), keys });
            let parsed = read(&mut reader, name, &table);
            found.push((name.to_owned(), table, parsed));
        }
    }
    found
}

/// The origin of each value, for `tenure config`.
fn record(layers: &mut Layers<'_>, section: &str, name: &str, table: &Table<'_>) {
    for (key, value) in &table.entries {
        let name = format!("{section}.{}.{key}", toml_key(name));
        let text = layers.source.map_or_else(String::new, |source| value_text(value, &source.text));
        layers.record(&name, &text, Some(&Site::File(value.span())));
    }
}

fn resource(reader: &mut Reader<'_>, name: &str, table: &Table<'_>) -> Resource {
    let key = if table.get("key").is_some() { key_expression(reader, table, "key") } else { None };
    let limits = Limits {
        running: reader.get(table, "running", value::number(1, COUNT_MAX)),
        rate: rate(reader, table),
        waiting: reader.get(table, "waiting", value::number(1, COUNT_MAX)),
    };
    if ["running", "rate", "waiting"].iter().all(|limit| table.get(limit).is_none()) {
        let message = format!("resource {} has no limit", printable(name));
        reader.add_flaw(table.at.clone(), ValueError::new(message, "set `running`, `rate` or `waiting`"));
    }
    Resource { key, limits }
}

/// `rate = { count = 10, per = "1s", burst = 20 }`; `burst` defaults to `count`.
fn rate(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<Rate> {
    let table = inner(reader, table, "rate", &RATE)?;
    require(reader, &table, "rate", &["count", "per"]);
    let count: Option<u64> = reader.get(&table, "count", value::number(1, COUNT_MAX));
    let per = reader.get(&table, "per", span);
    let burst: Option<u64> = reader.get(&table, "burst", value::number(1, COUNT_MAX));
    let (count, per) = (count?, per?);
    if let Some(value) = table.get("burst").filter(|_| burst.is_some_and(|burst| burst < count)) {
        let message = format!("`burst` is less than `count`, which is {count}");
        reader.add_flaw(value.span(), ValueError::new(message, "make it larger, or remove it"));
        return None;
    }
    Some(Rate { count, per, burst: burst.unwrap_or(count) })
}

fn queue(reader: &mut Reader<'_>, _: &str, table: &Table<'_>) -> QueueFlow {
    QueueFlow { share: share(reader, table), aging: reader.get(table, "aging", span) }
}

/// `share = { key = "user_id", weights = { acme = 5 }, default_weight = 1 }`.
fn share(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<Share> {
    const WEIGHT_MAX: i64 = limits::WEIGHT_MAX as i64;
    let table = inner(reader, table, "share", &SHARE)?;
    let key = key_expression(reader, &table, "share");
    let default_weight = reader.get(&table, "default_weight", value::number(1, WEIGHT_MAX)).unwrap_or(1);
    let mut weights = BTreeMap::new();
    let entries = table.get("weights").and_then(|value| reader.table(value, "weights"));
    for (name, value) in entries.into_iter().flatten() {
        let weight = reader.parse(value, "weights", value::number(1, WEIGHT_MAX));
        weights.extend(weight.map(|weight| (name.get_ref().as_ref().into(), weight)));
    }
    Some(Share { key: key?, weights, default_weight })
}

/// The keys `uses`, `sequence` and `batch` of a type.
pub(crate) fn of_type<'t>(reader: &mut Reader<'_>, table: &Table<'t>) -> FlowDraft<'t> {
    let flow = TypeFlow {
        uses: uses(reader, table),
        sequence: sequence(reader, table),
        batch: batch(reader, table),
    };
    FlowDraft { flow, uses: table.get("uses") }
}

/// `uses = ["openai", { resource = "gpu", units = 2 }]`.
fn uses(reader: &mut Reader<'_>, table: &Table<'_>) -> Vec<ResourceDemand> {
    let Some(value) = table.get("uses") else { return Vec::new() };
    let DeValue::Array(values) = value.get_ref() else {
        let help = "put it in brackets: uses = [\"openai\"]";
        reader.add_flaw(value.span(), value::wrong_type(value, "uses", "a list of resources", help));
        return Vec::new();
    };
    if values.len() > limits::TYPE_RESOURCES_MAX {
        let message = format!("`uses` names {} resources", values.len());
        let help = format!("the maximum is {}", limits::TYPE_RESOURCES_MAX);
        reader.add_flaw(value.span(), ValueError::new(message, help));
    }
    let mut found: Vec<ResourceDemand> = Vec::new();
    for value in values {
        let Some(demand) = demand(reader, value) else { continue };
        if found.iter().any(|known| known.resource == demand.resource) {
            let message = format!("`{}` is named twice", printable(&demand.resource));
            reader.add_flaw(value.span(), ValueError::new(message, "remove one of the two"));
            continue;
        }
        found.push(demand);
    }
    found
}

fn demand(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<ResourceDemand> {
    let DeValue::Table(table) = value.get_ref() else {
        let resource = reader.parse(value, "uses", value::name)?;
        return Some(ResourceDemand { resource: resource.into(), units: 1 });
    };
    let table = reader.open(table, value.span(), &DEMAND);
    require(reader, &table, "uses", &["resource"]);
    let resource = reader.get(&table, "resource", value::name)?;
    let units = reader.get(&table, "units", value::number(1, COUNT_MAX));
    if table.get("units").is_some() && units.is_none() {
        return None;
    }
    Some(ResourceDemand { resource: resource.into(), units: units.unwrap_or(1) })
}

/// `sequence = { key = "payload.account", on_failure = "halt" }`.
fn sequence(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<Sequence> {
    let table = inner(reader, table, "sequence", &SEQUENCE)?;
    require(reader, &table, "sequence", &["on_failure"]);
    let key = key_expression(reader, &table, "sequence");
    let words = [("halt", OnFailure::Halt), ("continue", OnFailure::Continue)];
    let on_failure = reader.get(&table, "on_failure", |input| value::keyword(input, &words));
    Some(Sequence { key: key?, on_failure: on_failure? })
}

/// `batch = { size = 100, wait = "2s", key = "payload.model" }`.
fn batch(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<Batch> {
    let table = inner(reader, table, "batch", &BATCH)?;
    require(reader, &table, "batch", &["size", "wait"]);
    let size = reader.get(&table, "size", value::number(1, limits::GROUP_JOBS_MAX as i64));
    let wait = reader.get(&table, "wait", span);
    let key = if table.get("key").is_some() { Some(key_expression(reader, &table, "key")?) } else { None };
    Some(Batch { size: size?, wait: wait?, key })
}

/// Resources that a type names must exist, and its jobs must be able to run.
pub(crate) fn check_uses<'a>(
    reader: &mut Reader<'_>,
    drafts: impl Iterator<Item = &'a FlowDraft<'a>>,
    declarations: &Declarations,
) {
    let names: Vec<&str> = declarations.resources.keys().map(ResourceName::as_str).collect();
    for draft in drafts {
        let Some(value) = draft.uses else { continue };
        for demand in &draft.flow.uses {
            let error = match declarations.resources.get(&demand.resource) {
                None => {
                    let message = format!("no resource is named `{}`", printable(&demand.resource));
                    let help = if names.is_empty() {
                        "declare it: [resources.NAME]".to_owned()
                    } else {
                        suggestion(&demand.resource, &names)
                    };
                    ValueError::new(message, help)
                }
                Some(resource) => match resource.limits.check(demand.units) {
                    Ok(()) => continue,
                    Err(flaw) => {
                        ValueError::new(format!("resource {}: {flaw}", demand.resource), "lower `units`")
                    }
                },
            };
            reader.add_flaw(value.span(), error);
        }
    }
}

/// A table in a table.
fn inner<'t>(
    reader: &mut Reader<'_>,
    table: &Table<'t>,
    key: &str,
    shape: &TableShape<'_>,
) -> Option<Table<'t>> {
    let value = table.get(key)?;
    let entries: &'t DeTable<'t> = reader.table(value, key)?;
    Some(reader.open(entries, value.span(), shape))
}

fn require(reader: &mut Reader<'_>, table: &Table<'_>, place: &str, keys: &[&str]) {
    let missing: Vec<&str> = keys.iter().copied().filter(|key| table.get(key).is_none()).collect();
    if !missing.is_empty() {
        let message = format!("`{place}` has no {}", list(&missing));
        reader.add_flaw(table.at.clone(), ValueError::new(message, "set it"));
    }
}
