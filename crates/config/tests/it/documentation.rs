//! The example file and docs/configuration.md are complete and correct.

use tenure_config::{KEYS, Limits, OnReload};

use crate::fixture::{ERRAND, Fixture};

const EXAMPLE: &str = include_str!("../../src/example.toml");

#[test]
fn the_example_is_a_valid_configuration() {
    let fixture = Fixture::new(EXAMPLE);
    let config = fixture.loaded().config;
    assert_eq!(config.limits, Limits::default(), "the example shows the defaults");
    let names: Vec<&str> = config.definitions.types.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["generate_image", "render", "*"]);
    for key in KEYS {
        let last = key.name.rsplit('.').next().unwrap();
        assert!(EXAMPLE.contains(&format!("{last} = ")), "the example leaves {} out", key.name);
    }
}

#[test]
fn the_commented_lines_of_the_example_are_valid() {
    let settings = EXAMPLE.lines().map(|line| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let is_setting = bare.starts_with('[') || bare.contains(" = ");
        let is_other_choice = bare.ends_with("localhost/tenure\"") || bare.starts_with("schema = \"");
        if is_setting && !is_other_choice { bare } else { "" }
    });
    let text = settings.collect::<Vec<_>>().join("\n") + "\n[types.undo_image]\nlifecycle = 'distributed'";
    let fixture = Fixture::new(&text).with("lifecycles/errand.toml", ERRAND);
    let config = fixture.loaded().config;
    assert_eq!(config.jwt.unwrap().algorithms, ["RS256", "ES256", "EdDSA"]);
    assert_eq!(config.tls.unwrap().key, fixture.path("tls/key.pem"));
    assert_eq!(config.otel.unwrap().endpoint, "http://127.0.0.1:4318");
    assert_eq!(config.definitions.lifecycles.len(), 6);
}

#[test]
fn the_documentation_lists_every_setting_its_default_and_whether_it_is_reloaded() {
    let docs = include_str!("../../../../docs/configuration.md");
    let defaults = Fixture::empty().loaded().config.settings;
    for key in KEYS {
        let row = docs.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("docs/configuration.md has no row for {}", key.name));
        assert!(row.contains(&format!("`{}`", key.variable())), "{row}");
        assert!(key.flag.is_none_or(|flag| row.contains(&format!("`{flag}`"))), "{row}");
        let on_reload = match key.on_reload {
            OnReload::Applied => "yes",
            OnReload::NeedsRestart => "restart",
        };
        assert_eq!(row.split('|').nth(5).map(str::trim), Some(on_reload), "the column reload of {row}");
        let default = defaults.iter().find(|setting| setting.name == key.name && key.name != "data");
        if let Some(default) = default {
            assert!(row.contains(&format!("`{}`", default.value)), "{row}");
        }
    }
}
