//! The settings there are, in the order of the documentation: the one table that the file, the environment, the flags
//! and the test of the documentation share.

use std::ops::Range;

use toml::de::DeTable;

use crate::intake::INTAKE;
use crate::reader::{Reader, TableShape, Value};
use OnReload::{Applied, NeedsRestart};

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The full name: `limits.payload` is `payload` in `[limits]`.
    pub name: &'static str,
    pub flag: Option<&'static str>,
    pub on_reload: OnReload,
}

/// What a reload of the configuration does with a changed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnReload {
    Applied,
    /// The value of the running process stays until a restart.
    NeedsRestart,
}

impl Key {
    /// The environment variable of this key: `TENURE_LIMITS_PAYLOAD`.
    pub fn variable(&self) -> String {
        variable(self.name)
    }
}

/// Every setting except those of types.
pub const KEYS: &[Key] = &[
    key("listen", Some("--listen"), NeedsRestart),
    key("data", Some("--data"), NeedsRestart),
    key("database_url", Some("--database-url"), NeedsRestart),
    key("database_schema", None, NeedsRestart),
    key("lifecycles", None, Applied),
    key("limits.payload", None, Applied),
    key("limits.body", None, Applied),
    key("limits.asset", None, Applied),
    key("limits.connections", None, Applied),
    key("limits.header_timeout", None, Applied),
    key("limits.creations_per_second", None, Applied),
    key("limits.memory", None, Applied),
    key("webhooks.allow", None, Applied),
    key("webhooks.retry", None, Applied),
    key("attention.failure_percent", None, Applied),
    key("attention.failed_jobs", None, Applied),
    key("attention.oldest_ready", None, Applied),
    key("attention.backlog", None, Applied),
    key("attention.drain_within", None, Applied),
    key("attention.pause", None, Applied),
    key("attention.lost_leases", None, Applied),
    key("attention.commit_time", None, Applied),
    key("assets.store", None, NeedsRestart),
    key("auth.jwt.issuer", None, Applied),
    key("auth.jwt.audience", None, Applied),
    key("auth.jwt.jwks", None, Applied),
    key("auth.jwt.algorithms", None, Applied),
    key("auth.jwt.role_claim", None, Applied),
    key("auth.jwt.user_claim", None, Applied),
    key("tls.certificate", None, Applied),
    key("tls.key", None, Applied),
    key("otel.endpoint", None, NeedsRestart),
    key("log.format", None, NeedsRestart),
    key("log.filter", None, Applied),
];

/// The table of types; the keys in it are type names.
pub(crate) const TYPES: &str = "types";
/// The table of resources.
pub(crate) const RESOURCES: &str = "resources";
/// The table of queues.
pub(crate) const QUEUES: &str = "queues";

const fn key(name: &'static str, flag: Option<&'static str>, on_reload: OnReload) -> Key {
    Key { name, flag, on_reload }
}

pub(crate) fn variable(name: &str) -> String {
    format!("TENURE_{}", name.replace('.', "_").to_ascii_uppercase())
}

/// The tables that contain keys, each once.
pub(crate) fn tables() -> Vec<&'static str> {
    let mut found = Vec::new();
    for key in KEYS {
        for (dot, _) in key.name.match_indices('.') {
            if !found.contains(&&key.name[..dot]) {
                found.push(&key.name[..dot]);
            }
        }
    }
    found
}

/// The table with a key of this last name; `""` is the top of the file.
pub(crate) fn table_of(last: &str) -> Option<&'static str> {
    KEYS.iter().find_map(|key| match key.name.rsplit_once('.') {
        Some((table, name)) => (name == last).then_some(table),
        None => (key.name == last).then_some(""),
    })
}

/// The values in the file by key.
#[derive(Default)]
pub(crate) struct FileValues<'t> {
    values: Vec<(&'static str, &'t Value<'t>)>,
    /// Tables in the file, including empty ones.
    pub(crate) tables: Vec<(String, Range<usize>)>,
    pub(crate) named: NamedTables<'t>,
}

/// Tables whose keys are names.
#[derive(Clone, Copy, Default)]
pub(crate) struct NamedTables<'t> {
    pub(crate) types: Option<&'t Value<'t>>,
    pub(crate) resources: Option<&'t Value<'t>>,
    pub(crate) queues: Option<&'t Value<'t>>,
    pub(crate) intake: Option<&'t Value<'t>>,
}

impl<'t> FileValues<'t> {
    pub(crate) fn get(&self, key: &str) -> Option<&'t Value<'t>> {
        self.values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

/// Collects the values of a table and of those below it.
pub(crate) fn collect<'t>(
    reader: &mut Reader<'_>,
    table: &'t DeTable<'t>,
    prefix: &str,
    into: &mut FileValues<'t>,
) {
    let names = names_below(prefix);
    let place = if prefix.is_empty() { String::new() } else { format!("[{prefix}]") };
    let shape = TableShape { place: &place, keys: &names };
    for (name, value) in reader.open(table, 0..0, &shape).entries {
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        if let Some(key) = KEYS.iter().find(|key| key.name == path) {
            into.values.push((key.name, value));
        } else if path == TYPES {
            into.named.types = Some(value);
        } else if path == RESOURCES {
            into.named.resources = Some(value);
        } else if path == QUEUES {
            into.named.queues = Some(value);
        } else if path == INTAKE {
            into.named.intake = Some(value);
        } else if let Some(table) = reader.table(value, &path) {
            into.tables.push((path.clone(), value.span()));
            collect(reader, table, &path, into);
        }
    }
}

/// The keys and tables directly below a table.
fn names_below(prefix: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    for key in KEYS {
        let below = if prefix.is_empty() {
            Some(key.name)
        } else {
            key.name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'))
        };
        let first = below.map(|below| below.split('.').next().unwrap_or(below));
        if let Some(first) = first.filter(|first| !names.contains(first)) {
            names.push(first);
        }
    }
    if prefix.is_empty() {
        names.extend([TYPES, RESOURCES, QUEUES, INTAKE]);
    }
    names
}
