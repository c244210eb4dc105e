//! A configuration that is loaded again is compared with the running one.

use tenure_config::{Config, KEYS, OnReload, Reload, StoreLocation, reload};

use crate::fixture::{ERRAND, Fixture};

/// A value of each key that differs from its default.
const VALUES: &str = r#"
listen = "127.0.0.1:1"
data = "elsewhere"
database_schema = "jobs"
lifecycles = ["errand.toml"]
[limits]
payload = "1 KiB"
body = "1 MiB"
asset = "1 MiB"
connections = 7
header_timeout = "1s"
creations_per_second = 3
memory = "1 GiB"
[webhooks]
allow = ["10.0.0.0/8"]
retry = ["1s"]
[attention]
failure_percent = 1
failed_jobs = 1
oldest_ready = "1m"
backlog = 1
drain_within = "1m"
pause = "1m"
lost_leases = 1
commit_time = "2s"
[assets]
store = "file:assets"
[auth.jwt]
issuer = "i"
audience = "a"
jwks = "keys.json"
algorithms = ["RS256"]
role_claim = "r"
user_claim = "u"
[tls]
certificate = "c.pem"
key = "k.pem"
[otel]
endpoint = "http://127.0.0.1:1"
[log]
format = "json"
filter = "warn"
[types.new]
lifecycle = "errand"
"#;

fn of(running: &str, loaded: &str) -> Reload {
    let fixture = Fixture::new(running).with("errand.toml", ERRAND);
    let running = fixture.loaded().config;
    reload(&running, fixture.with("tenure.toml", loaded).loaded().config)
}

#[test]
fn every_setting_is_applied_or_named_as_one_that_needs_a_restart() {
    let tls = "[tls]\ncertificate = 'old.pem'\nkey = 'old-key.pem'";
    let mut found = of(tls, VALUES);
    let database = of(tls, "database_url = 'postgres://db/x'\n[tls]\ncertificate = 'c'\nkey = 'k'");
    found.needs_restart.extend(database.needs_restart.iter().filter(|name| **name == "database_url"));
    for key in KEYS {
        let is_applied = found.changed.iter().any(|name| name == key.name);
        let needs_restart = found.needs_restart.contains(&key.name);
        assert_eq!(
            (is_applied, needs_restart),
            match key.on_reload {
                OnReload::Applied => (true, false),
                OnReload::NeedsRestart => (false, true),
            },
            "{}",
            key.name
        );
    }
    assert!(found.changed.contains(&"types.new.lifecycle".to_owned()), "{:?}", found.changed);
}

#[test]
fn settings_that_need_a_restart_keep_their_running_values() {
    let Reload { config, changed, needs_restart } = of("", VALUES);
    let default = Config::default();
    assert_eq!(config.listen, default.listen);
    assert!(matches!(config.store, StoreLocation::Data(folder) if folder.ends_with("tenure-data")));
    assert_eq!((config.assets, config.otel, config.tls), (None, None, None), "TLS is not switched on");
    assert_eq!((config.log.format, config.log.filter.as_str()), (default.log.format, "warn"));
    assert_eq!(config.limits.connections, 7);
    let shown =
        |name: &str| config.settings.iter().find(|one| one.name == name).map(|one| one.value.as_str());
    assert_eq!(shown("listen"), Some("127.0.0.1:7117"));
    assert_eq!(
        (shown("tls.key"), shown("assets.store"), shown("limits.connections")),
        (None, None, Some("7"))
    );
    let expected = [
        "listen",
        "data",
        "database_schema",
        "assets.store",
        "tls.certificate",
        "tls.key",
        "otel.endpoint",
        "log.format",
    ];
    assert_eq!(needs_restart, expected);
    assert!(!changed.iter().any(|name| name.starts_with("tls")), "{changed:?}");
}

#[test]
fn a_changed_password_is_noticed_although_it_is_hidden() {
    let found = of("database_url = 'postgres://u:one@db/x'", "database_url = 'postgres://u:two@db/x'");
    assert_eq!((found.changed, found.needs_restart), (Vec::<String>::new(), vec!["database_url"]));
}

#[test]
fn nothing_has_changed_in_the_same_configuration() {
    let fixture = Fixture::new(VALUES).with("errand.toml", ERRAND);
    let found = reload(&fixture.loaded().config, fixture.loaded().config);
    assert!(found.changed.is_empty() && found.needs_restart.is_empty(), "{found:?}");
}
