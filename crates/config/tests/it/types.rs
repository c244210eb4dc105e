//! Types: how they are loaded, and what is reported about flawed ones.

use expect_test::expect;
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
fn schema_files_are_checked() {
    let fixture = Fixture::new(
        "[types]\na = { lifecycle = 'image', schema = 'a.json' }\nb = { lifecycle = 'image', schema = 'b.json' }\n\
         c = { lifecycle = 'image', schema = 'c.json' }\nd = { lifecycle = 'image', schema = { x = 1979-05-27 } }\n\
         e = { lifecycle = 'image', schema = 5 }",
    );
    let fixture = fixture.with("a.json", "{").with("b.json", r#"{ "type": "strnig" }"#);
    expect![[r#"
        tenure.toml:2:37: schema a.json is not JSON: EOF while parsing an object at line 1 column 1
          |
        2 | a = { lifecycle = 'image', schema = 'a.json' }
          |                                     ^^^^^^^^
          = write one JSON object into the file

        tenure.toml:3:37: schema b.json, at #/type: "strnig" is not a JSON type
          |
        3 | b = { lifecycle = 'image', schema = 'b.json' }
          |                                     ^^^^^^^^

        tenure.toml:4:37: cannot read the schema c.json: no such file
          |
        4 | c = { lifecycle = 'image', schema = 'c.json' }
          |                                     ^^^^^^^^

        tenure.toml:5:43: JSON has no dates
          |
        5 | d = { lifecycle = 'image', schema = { x = 1979-05-27 } }
          |                                           ^^^^^^^^^^
          = a schema is JSON, even when it is written as TOML

        tenure.toml:6:37: `schema` must be a string or a table, not a number
          |
        6 | e = { lifecycle = 'image', schema = 5 }
          |                                     ^
          = write the path of a JSON file, or the schema itself as a table
    "#]]
    .assert_eq(&fixture.error());
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
    expect![[r#"
        listen = 127.0.0.1:7117 (default)
        data = ./tenure-data (default)
        limits.payload = 1 KiB (tenure.toml:19)
        limits.body = 16 MiB (default)
        limits.asset = 1 GiB (default)
        limits.connections = 4096 (default)
        limits.header_timeout = 10s (default)
        webhooks.retry = 5s, 5m, 30m, 2h, 5h, 10h, 14h, 20h, 1d (default)
        log.format = text (default)
        log.filter = info (default)
        types.render.lifecycle = engine (tenure.toml:2)
        types.render.schema = schemas/render.json (tenure.toml:3)
        types.render.guard = has(payload.frame) (tenure.toml:4)
        types.render.max_attempts = 7 (tenure.toml:5)
        types.render.lease = 2m (tenure.toml:6)
        types.render.heartbeat = 5s (tenure.toml:7)
        types.render.cancel_grace = 1s (tenure.toml:8)
        types.render.backoff = { max = "5s", jitter = "equal" } (tenure.toml:9)
        types.render.priority = -3 (tenure.toml:10)
        types.render.queue = gpu (tenure.toml:11)
        types.render.compensate_with = clean (tenure.toml:12)
        types.render.timeouts = { queued = "5s" } (tenure.toml:13)
        types.clean.lifecycle = image (tenure.toml:15)
        types.clean.cost = 2 (tenure.toml:16)
        types.clean.schema = a table (tenure.toml:17)
    "#]]
    .assert_eq(&fixture.settings());
}
