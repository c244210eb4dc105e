//! What may be set, in the order of the documentation, and under which names: the one table that the file's reader,
//! the environment, the flags and the documentation's test share.

use std::ops::Range;

use toml::de::DeTable;

use super::reader::{Form, Reader, Value};

/// Something that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its place in the file: `limits.payload` is `payload` in `[limits]`.
    pub name: &'static str,
    /// The flag that sets it, if there is one.
    pub flag: Option<&'static str>,
}

impl Key {
    /// The environment variable that sets it: `TENURE_LIMITS_PAYLOAD`.
    pub fn variable(&self) -> String {
        variable(self.name)
    }
}

/// Everything that can be set, but for the types.
pub const KEYS: &[Key] = &[
    key("listen", Some("--listen")),
    key("data", Some("--data")),
    key("database_url", Some("--database-url")),
    key("lifecycles", None),
    key("limits.payload", None),
    key("limits.body", None),
    key("limits.asset", None),
    key("limits.connections", None),
    key("limits.header_timeout", None),
    key("limits.creations_per_second", None),
    key("webhooks.allow", None),
    key("webhooks.retry", None),
    key("assets.store", None),
    key("auth.jwt.issuer", None),
    key("auth.jwt.audience", None),
    key("auth.jwt.jwks", None),
    key("auth.jwt.algorithms", None),
    key("auth.jwt.role_claim", None),
    key("auth.jwt.user_claim", None),
    key("tls.certificate", None),
    key("tls.key", None),
    key("otel.endpoint", None),
    key("log.format", None),
    key("log.filter", None),
];

/// The table of types: its keys are names.
pub(super) const TYPES: &str = "types";

const fn key(name: &'static str, flag: Option<&'static str>) -> Key {
    Key { name, flag }
}

/// The one rule for environment variables.
pub(super) fn variable(name: &str) -> String {
    format!("TENURE_{}", name.replace('.', "_").to_ascii_uppercase())
}

/// The tables that keys stand in, each once.
pub(super) fn tables() -> Vec<&'static str> {
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

/// The table that a key of this last name stands in; `""` is the top of the file.
pub(super) fn home(last: &str) -> Option<&'static str> {
    KEYS.iter().find_map(|key| match key.name.rsplit_once('.') {
        Some((table, name)) => (name == last).then_some(table),
        None => (key.name == last).then_some(""),
    })
}

/// What a file says, by the key that it says it for.
#[derive(Default)]
pub(super) struct Leaves<'t> {
    pub(super) values: Vec<(&'static str, &'t Value<'t>)>,
    /// Tables that are there, be they empty.
    pub(super) tables: Vec<(String, Range<usize>)>,
    pub(super) types: Option<&'t Value<'t>>,
}

/// Takes in a table of the file and those below it.
pub(super) fn walk<'t>(reader: &mut Reader<'_>, table: &'t DeTable<'t>, prefix: &str, into: &mut Leaves<'t>) {
    let names = names_below(prefix);
    let what = if prefix.is_empty() { "the configuration".to_owned() } else { format!("[{prefix}]") };
    let form = Form { what: &what, keys: &names };
    for (name, value) in reader.open(table, 0..0, &form).entries {
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        if let Some(key) = KEYS.iter().find(|key| key.name == path) {
            into.values.push((key.name, value));
        } else if path == TYPES {
            into.types = Some(value);
        } else if let Some(table) = reader.table(value, &path) {
            into.tables.push((path.clone(), value.span()));
            walk(reader, table, &path, into);
        }
    }
}

/// The keys and tables right below a table.
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
        names.push(TYPES);
    }
    names
}
