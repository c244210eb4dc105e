//! Compares a configuration that was loaded again with the running one: what can be applied, and what needs a restart.

use crate::keys::{KEYS, OnReload};
use crate::{Config, Setting, StoreLocation};

/// The keys of `[tls]`. New files are applied; switching between HTTP and HTTPS needs a restart.
const TLS_KEYS: [&str; 2] = ["tls.certificate", "tls.key"];

/// A configuration to apply to a running server.
#[derive(Clone, Debug)]
pub struct Reload {
    /// The loaded configuration, with the running values of settings that need a restart.
    pub config: Config,
    /// Changed settings that are applied, in the order of the documentation. Files may have changed besides.
    pub changed: Vec<String>,
    /// Changed settings that keep their running value.
    pub needs_restart: Vec<&'static str>,
}

/// Compares a loaded configuration with the running one.
pub fn reload(running: &Config, loaded: Config) -> Reload {
    let needs_restart: Vec<&'static str> =
        KEYS.iter().map(|key| key.name).filter(|name| needs_restart(name, running, &loaded)).collect();
    let is_kept = |setting: &Setting| needs_restart.contains(&setting.name.as_str());
    let mut settings: Vec<Setting> =
        loaded.settings.into_iter().filter(|setting| !is_kept(setting)).collect();
    settings.extend(running.settings.iter().filter(|setting| is_kept(setting)).cloned());
    let place = |setting: &Setting| KEYS.iter().position(|key| key.name == setting.name);
    settings.sort_by_key(|setting| place(setting).unwrap_or(KEYS.len()));
    let changed = changed(&running.settings, &settings);
    let mut config = Config { settings, ..loaded };
    config.listen = running.listen;
    config.store = running.store.clone();
    config.database_schema.clone_from(&running.database_schema);
    config.intake.clone_from(&running.intake);
    config.assets.clone_from(&running.assets);
    config.otel.clone_from(&running.otel);
    config.log.format = running.log.format;
    if switches_tls(running, &config) {
        config.tls.clone_from(&running.tls);
    }
    Reload { config, changed, needs_restart }
}

/// Whether the running value of a setting stays until a restart, and differs from the loaded one. Values are compared
/// themselves, since settings hide passwords.
fn needs_restart(name: &'static str, running: &Config, loaded: &Config) -> bool {
    let is_key = |known: &&crate::Key| known.name == name;
    if KEYS.iter().find(is_key).is_none_or(|key| key.on_reload == OnReload::Applied) {
        return TLS_KEYS.contains(&name) && switches_tls(running, loaded);
    }
    let stores = [&running.store, &loaded.store];
    match name {
        "listen" => running.listen != loaded.listen,
        "data" => stores[0] != stores[1] && stores.iter().any(|it| matches!(it, StoreLocation::Data(_))),
        "database_url" => {
            stores[0] != stores[1] && stores.iter().any(|it| matches!(it, StoreLocation::Database(_)))
        }
        "database_schema" => running.database_schema != loaded.database_schema,
        "assets.store" => running.assets != loaded.assets,
        "otel.endpoint" => running.otel != loaded.otel,
        "log.format" => running.log.format != loaded.log.format,
        _ => false,
    }
}

fn switches_tls(running: &Config, loaded: &Config) -> bool {
    running.tls.is_some() != loaded.tls.is_some()
}

/// The names of settings with another value, or that are set in only one of the two.
fn changed(running: &[Setting], settings: &[Setting]) -> Vec<String> {
    let value = |all: &[Setting], name: &str| {
        all.iter().find(|setting| setting.name == name).map(|setting| setting.value.clone())
    };
    let differs = |name: &str| value(running, name) != value(settings, name);
    let removed = running.iter().filter(|setting| value(settings, &setting.name).is_none());
    let names = settings.iter().chain(removed).map(|setting| &setting.name);
    names.filter(|name| differs(name)).cloned().collect()
}
