//! Types: how they are loaded, and what is reported about flawed ones.

use tenure_core::lifecycle::{Backoff, Jitter};
use tenure_core::time::Millis;

use crate::fixture::{Fixture, check};

#[test]
fn flaws_of_types_have_places() {
    check("types");
}

#[test]
fn the_policy_of_a_type_is_checked() {
    check("type_policy");
}

#[test]
fn the_tables_of_a_type_are_checked() {
    check("type_tables");
}

#[test]
fn types_that_compensate_each_other_are_refused() {
    check("compensations");
}

#[test]
fn schema_files_are_checked() {
    let fixture = Fixture::new(
        "[types]\na = { lifecycle = 'image', schema = 'a.json' }\nb = { lifecycle = 'image', schema = 'b.json' }\n\
         c = { lifecycle = 'image', schema = 'c.json' }\nd = { lifecycle = 'image', schema = { x = 1979-05-27 } }\n\
         e = { lifecycle = 'image', schema = 5 }",
    );
    let fixture = fixture.with("a.json", "{").with("b.json", r#"{ "type": "strnig" }"#);
    fixture.check_error("schema_files");
}

const RENDER: &str = include_str!("cases/render.toml");

#[test]
fn types_are_loaded() {
    let fixture = Fixture::new(RENDER).with("schemas/render.json", r#"{ "type": "object" }"#);
    let types = fixture.loaded().config.definitions.types;
    assert_eq!(types.len(), 2, "there is no catch-all unless it is declared");
    let render = &types[0];
    assert_eq!((render.name.as_str(), render.lifecycle.as_str()), ("render", "engine"));
    assert_eq!(render.schema, Some(serde_json::json!({ "type": "object" })));
    assert_eq!(render.guard.as_deref(), Some("has(payload.frame)"));
    assert_eq!((render.max_attempts, render.priority, render.cost), (Some(7), -3, 0));
    assert_eq!((render.lease, render.heartbeat), (Some(Millis::seconds(120)), Some(Millis::seconds(5))));
    assert_eq!(render.cancel_grace, Some(Millis::seconds(1)));
    let default = tenure_core::lifecycle::Lifecycle::built_in();
    let default = default.iter().find(|lifecycle| lifecycle.name == "engine").unwrap().policy.backoff;
    let expected = Backoff { max: Millis::seconds(5), jitter: Jitter::Equal, ..default };
    assert_eq!(render.backoff, Some(expected), "keys that are not set keep the lifecycle's values");
    assert_eq!(render.queue.as_deref(), Some("gpu"));
    assert_eq!(render.compensate_with.as_deref(), Some("clean"));
    assert_eq!(render.timeouts, [("queued".to_owned(), Millis::seconds(5))]);
    assert_eq!((types[1].cost, types[1].payload_bytes_max), (2, Some(1024)));
    assert_eq!(types[1].schema, Some(serde_json::json!({ "type": "object" })));
    fixture.check_settings("loaded_types");
}
