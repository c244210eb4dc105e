//! Types: how they are loaded, and what is reported about flawed ones.

use expect_test::expect;
use tenure_core::lifecycle::{Backoff, Jitter};
use tenure_core::time::Millis;

use crate::fixture::{Fixture, check};

#[test]
fn flaws_of_types_have_places() {
    check(
        r#"[types.picture]
lifecycle = "imgae"
[types.render]
lifecycle = "engine"
cost = 2
guard = 'size(payload.prompt) <= '
schema = { type = "object", properties = { prompt = { type = "strnig" } } }
compensate_with = "undo"
[types.nothing]
"#,
        &expect![[r#"
            tenure.toml:2:13: there is no lifecycle `imgae`
              |
            2 | lifecycle = "imgae"
              |             ^^^^^^^
              = did you mean `image`?

            tenure.toml:5:8: a cost is charged to credits, and lifecycle engine has none
              |
            5 | cost = 2
              |        ^
              = remove the cost, or add [credits] to the lifecycle

            tenure.toml:6:34: the guard: expected a value, found the end
              |
            6 | guard = 'size(payload.prompt) <= '
              |                                  ^

            tenure.toml:7:62: the schema, at #/properties/prompt/type: "strnig" is not a type of JSON
              |
            7 | schema = { type = "object", properties = { prompt = { type = "strnig" } } }
              |                                                              ^^^^^^^^

            tenure.toml:8:19: there is no type `undo` to compensate with
              |
            8 | compensate_with = "undo"
              |                   ^^^^^^
              = there are picture, render and nothing

            tenure.toml:9:8: type nothing does not say its `lifecycle`
              |
            9 | [types.nothing]
              |        ^^^^^^^
              = there are distributed, engine, image, pattern and so1
        "#]],
    );
}

#[test]
fn the_policy_of_a_type_is_checked() {
    check(
        r#"[types.render]
lifecycle = "engine"
max_attempts = 0
lease = "10ms"
heartbeat = "soon"
cancel_grace = 3
priority = "high"
queue = ""
"#,
        &expect![[r#"
            tenure.toml:3:16: `max_attempts` is 0, which is out of bounds
              |
            3 | max_attempts = 0
              |                ^
              = a whole number from 1 to 1000 will do

            tenure.toml:4:9: `lease` is 10ms, which is too short
              |
            4 | lease = "10ms"
              |         ^^^^^^
              = 1s is the least

            tenure.toml:5:13: `soon` is not a duration
              |
            5 | heartbeat = "soon"
              |             ^^^^^^
              = write it like "500ms", "10s", "1m 30s", "2h" or "3d"; a hundred years are the most

            tenure.toml:6:16: `cancel_grace` must be a duration, and this is a number
              |
            6 | cancel_grace = 3
              |                ^
              = write a number and a unit, in quotes: cancel_grace = "30s"

            tenure.toml:7:12: `priority` must be a whole number, and this is a text
              |
            7 | priority = "high"
              |            ^^^^^^
              = write it without quotes: priority = 1

            tenure.toml:8:9: `queue` is empty
              |
            8 | queue = ""
              |         ^^
              = say something, or remove the line
        "#]],
    );
}

#[test]
fn the_tables_of_a_type_are_checked() {
    check(
        r#"[types.render]
lifecycle = "engine"
backoff = { base = "1s", factor = 0.5, jitter = "ful", min = 1 }
timeouts = { qeued = "5s", completed = "5s", running = "now" }
"#,
        &expect![[r#"
            tenure.toml:3:35: `factor` is 0.5, which is out of bounds
              |
            3 | backoff = { base = "1s", factor = 0.5, jitter = "ful", min = 1 }
              |                                   ^^^
              = 1 keeps the delay as it is, 2 doubles it each time

            tenure.toml:3:49: `ful` is not a value of `jitter`
              |
            3 | backoff = { base = "1s", factor = 0.5, jitter = "ful", min = 1 }
              |                                                 ^^^^^
              = did you mean `full`?

            tenure.toml:3:56: `min` is not a setting of backoff
              |
            3 | backoff = { base = "1s", factor = 0.5, jitter = "ful", min = 1 }
              |                                                        ^^^
              = there are base, factor, max and jitter

            tenure.toml:4:14: lifecycle engine has no state `qeued`
              |
            4 | timeouts = { qeued = "5s", completed = "5s", running = "now" }
              |              ^^^^^
              = did you mean `queued`?

            tenure.toml:4:28: lifecycle engine has no rule for a timeout in `completed`
              |
            4 | timeouts = { qeued = "5s", completed = "5s", running = "now" }
              |                            ^^^^^^^^^
              = it has timeouts in queued, dispatched and running

            tenure.toml:4:56: `now` is not a duration
              |
            4 | timeouts = { qeued = "5s", completed = "5s", running = "now" }
              |                                                        ^^^^^
              = write it like "500ms", "10s", "1m 30s", "2h" or "3d"; a hundred years are the most
        "#]],
    );
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
        tenure.toml:2:37: the schema a.json is not JSON: EOF while parsing an object at line 1 column 1
          |
        2 | a = { lifecycle = 'image', schema = 'a.json' }
          |                                     ^^^^^^^^
          = a schema file is one JSON object

        tenure.toml:3:37: the schema b.json, at #/type: "strnig" is not a type of JSON
          |
        3 | b = { lifecycle = 'image', schema = 'b.json' }
          |                                     ^^^^^^^^

        tenure.toml:4:37: the schema c.json cannot be read: there is no such file
          |
        4 | c = { lifecycle = 'image', schema = 'c.json' }
          |                                     ^^^^^^^^

        tenure.toml:5:43: JSON has no dates
          |
        5 | d = { lifecycle = 'image', schema = { x = 1979-05-27 } }
          |                                           ^^^^^^^^^^
          = a schema is JSON, even if it is written as TOML

        tenure.toml:6:37: `schema` must be a text or a table, and this is a number
          |
        6 | e = { lifecycle = 'image', schema = 5 }
          |                                     ^
          = write the path of a JSON file, or the schema itself as a table
    "#]]
    .assert_eq(&fixture.error());
}

const RENDER: &str = r#"[types.render]
lifecycle = "engine"
schema = "schemas/render.json"
guard = "has(payload.frame)"
max_attempts = 7
lease = "2m"
heartbeat = "5s"
cancel_grace = "1s"
backoff = { max = "5s", jitter = "equal" }
priority = -3
queue = "gpu"
compensate_with = "clean"
timeouts = { queued = "5s" }
[types.clean]
lifecycle = "image"
cost = 2
schema.type = "object"
[limits]
payload = "1 KiB"
"#;

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
