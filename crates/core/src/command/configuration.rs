//! A change of a node's configuration.

use std::collections::BTreeMap;

/// A configuration, and the one before. Secrets are hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationChange {
    /// The names of the changed settings.
    pub what: String,
    /// The earlier values of the changed settings, `None` for those that were not set. `None` if no configuration was recorded before.
    pub before: Option<BTreeMap<String, Option<String>>>,
    /// Every setting.
    pub after: BTreeMap<String, String>,
}
