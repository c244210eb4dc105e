//! The configuration: what wrong files are told, which level counts, where values come from, what stays hidden.

#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use expect_test::{Expect, expect};
use tempfile::TempDir;
use tenure_core::lifecycle::{Backoff, Jitter};
use tenure_core::time::Millis;
use tenure_server::config::{self, ConfigError, Flags, Limits, Loaded, LogFormat, Origin, StoreAt};

/// A folder with files in it, and an environment.
struct Scene {
    folder: TempDir,
    variables: BTreeMap<String, String>,
    flags: Flags,
}

impl Scene {
    fn new(file: &str) -> Self {
        Self::empty().with("tenure.toml", file)
    }

    fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self { folder, variables: BTreeMap::new(), flags: Flags::default() }
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        config::load_in(self.folder.path(), &self.flags, |name| self.variables.get(name).cloned())
    }

    fn loaded(&self) -> Loaded {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    /// What is said of it, with the folder's own path left out.
    fn error(&self) -> String {
        self.here(&self.load().expect_err("it must not load").to_string())
    }

    fn here(&self, text: &str) -> String {
        let folder = self.folder.path().display().to_string();
        text.replace(&format!("{folder}/"), "").replace(&folder, ".") + "\n"
    }

    fn settings(&self) -> String {
        let line =
            |setting: &config::Setting| format!("{} = {} ({})", setting.name, setting.value, setting.origin);
        self.here(&self.loaded().settings.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn setting(&self, name: &str) -> (String, Origin) {
        let loaded = self.loaded();
        let found = loaded.settings.into_iter().find(|setting| setting.name == name);
        found.map_or_else(|| panic!("{name} is not set"), |setting| (setting.value, setting.origin))
    }
}

fn check(file: &str, expected: &Expect) {
    expected.assert_eq(&Scene::new(file).error());
}

const ERRAND: &str = r#"
name    = "errand"
version = 1
about   = "Done by a worker, or not."
initial = "queued"

[states]
queued  = { role = "ready" }
running = { role = "active" }
done    = { outcome = "succeeded" }
failed  = { outcome = "failed" }

[[transitions]]
on = "create"
to = "queued"

[[transitions]]
on   = "claim"
from = "queued"
to   = "running"

[[transitions]]
on   = "succeed"
from = "running"
to   = "done"

[[transitions]]
on   = ["fail", "lease_expired"]
from = "running"
when = "retry"
to   = "queued"

[[transitions]]
on   = ["fail", "lease_expired"]
from = "running"
to   = "failed"
"#;

#[test]
fn nothing_said_is_all_defaults() {
    let scene = Scene::empty();
    let Loaded { config, file, .. } = scene.loaded();
    assert_eq!(file, None);
    assert_eq!(config.store, StoreAt::Data(scene.path("tenure-data")));
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.limits.header_timeout, Duration::from_secs(10));
    assert_eq!(config.definitions.types[0].name, "*");
    assert!(config.jwt.is_none() && config.tls.is_none() && config.otel.is_none());
    expect![[r#"
        listen = 127.0.0.1:7117 (default)
        data = ./tenure-data (default)
        limits.payload = 1 MiB (default)
        limits.body = 16 MiB (default)
        limits.asset = 1 GiB (default)
        limits.connections = 4096 (default)
        limits.header_timeout = 10s (default)
        webhooks.retry = 5s, 5m, 30m, 2h, 5h, 10h, 14h, 20h, 1d (default)
        log.format = text (default)
        log.filter = info (default)
        types."*".lifecycle = distributed (default)
    "#]]
    .assert_eq(&scene.settings());
}

#[test]
fn the_current_folder_is_the_one_that_load_looks_in() {
    let missing = Flags { config: Some("no/such/tenure.toml".into()), ..Flags::default() };
    let error = config::load(&missing, |_| None).unwrap_err();
    expect!["the configuration file no/such/tenure.toml cannot be read: there is no such file"]
        .assert_eq(&error.to_string());
}

#[test]
fn the_example_is_a_configuration() {
    let scene = Scene::new(config::example());
    let config = scene.loaded().config;
    assert_eq!(config.limits, Limits::default(), "the example shows the defaults");
    let names: Vec<&str> = config.definitions.types.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["generate_image", "render", "*"]);
    for key in config::KEYS {
        let last = key.name.rsplit('.').next().unwrap();
        assert!(config::example().contains(&format!("{last} = ")), "the example leaves {} out", key.name);
    }
}

#[test]
fn the_commented_lines_of_the_example_are_right_too() {
    let settings = config::example().lines().map(|line| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let is_setting = bare.starts_with('[') || bare.contains(" = ");
        let is_other_choice = bare.starts_with("database_url") || bare.starts_with("schema = \"");
        if is_setting && !is_other_choice { bare } else { "" }
    });
    let text = settings.collect::<Vec<_>>().join("\n") + "\n[types.undo_image]\nlifecycle = 'distributed'";
    let scene = Scene::new(&text).with("lifecycles/errand.toml", ERRAND);
    let config = scene.loaded().config;
    assert_eq!(config.jwt.unwrap().algorithms, ["RS256", "ES256", "EdDSA"]);
    assert_eq!(config.tls.unwrap().key, scene.path("tls/key.pem"));
    assert_eq!(config.otel.unwrap().endpoint, "http://127.0.0.1:4318");
    assert_eq!(config.definitions.lifecycles.len(), 6);
}

#[test]
fn unknown_keys_are_told_with_what_was_meant() {
    check(
        "listne = \"127.0.0.1:1\"\npayload = 3\n\n[limits]\npayloda = \"1 MiB\"\nlisten = \"127.0.0.1:1\"\n\
         [whatever]\nx = 1\n[types.a]\nlifecycel = \"image\"\nretries = 3\n[auth]\njwd.issuer = \"x\"",
        &expect![[r#"
            tenure.toml:1:1: `listne` is not a setting of the configuration
              |
            1 | listne = "127.0.0.1:1"
              | ^^^^^^
              = did you mean `listen`?

            tenure.toml:2:1: `payload` is not a setting of the configuration
              |
            2 | payload = 3
              | ^^^^^^^
              = `payload` belongs in [limits]

            tenure.toml:5:1: `payloda` is not a setting of [limits]
              |
            5 | payloda = "1 MiB"
              | ^^^^^^^
              = did you mean `payload`?

            tenure.toml:6:1: `listen` is not a setting of [limits]
              |
            6 | listen = "127.0.0.1:1"
              | ^^^^^^
              = `listen` belongs at the top of the file, before the first [table]

            tenure.toml:7:2: `whatever` is not a setting of the configuration
              |
            7 | [whatever]
              |  ^^^^^^^^
              = there are listen, data, database_url, lifecycles, limits, webhooks, assets, auth, tls, otel, log and types

            tenure.toml:10:1: `lifecycel` is not a setting of [types.a]
               |
            10 | lifecycel = "image"
               | ^^^^^^^^^
               = did you mean `lifecycle`?

            tenure.toml:11:1: `retries` is not a setting of [types.a]
               |
            11 | retries = 3
               | ^^^^^^^
               = there are lifecycle, schema, guard, cost, max_attempts, lease, heartbeat, backoff, cancel_grace, priority, queue, compensate_with and timeouts

            tenure.toml:13:1: `jwd` is not a setting of [auth]
               |
            13 | jwd.issuer = "x"
               | ^^^
               = did you mean `jwt`?

            tenure.toml:13:1: [auth.jwt] lacks auth.jwt.audience and auth.jwt.jwks
               |
            13 | jwd.issuer = "x"
               | ^^^
               = say auth.jwt.issuer, auth.jwt.audience and auth.jwt.jwks, or nothing of [auth.jwt]
        "#]],
    );
}

#[test]
fn wrong_values_are_told_all_at_once() {
    check(
        r#"listen = "localhost:7117"
data = 5
lifecycles = "a.toml"
limits = { payload = "1 Mib", body = "1 foo", connections = 0, header_timeout = 10 }
"#,
        &expect![[r#"
            tenure.toml:1:10: `localhost:7117` is not an address to listen on
              |
            1 | listen = "localhost:7117"
              |          ^^^^^^^^^^^^^^^^
              = write the address: 127.0.0.1:7117

            tenure.toml:2:8: `data` must be a text, and this is a number
              |
            2 | data = 5
              |        ^
              = write it in quotes

            tenure.toml:3:14: `lifecycles` must be a list of texts, and this is a text
              |
            3 | lifecycles = "a.toml"
              |              ^^^^^^^^
              = write it in brackets: lifecycles = ["…"]

            tenure.toml:4:38: `1 foo` is not a size
              |
            4 | limits = { payload = "1 Mib", body = "1 foo", connections = 0, header_timeout = 10 }
              |                                      ^^^^^^^
              = write it like "512 KiB", "1 MiB" or "16 MB"; a bare number is bytes

            tenure.toml:4:61: `limits.connections` is 0, which is out of bounds
              |
            4 | limits = { payload = "1 Mib", body = "1 foo", connections = 0, header_timeout = 10 }
              |                                                             ^
              = a whole number from 1 to 1000000 will do

            tenure.toml:4:81: `limits.header_timeout` must be a duration, and this is a number
              |
            4 | limits = { payload = "1 Mib", body = "1 foo", connections = 0, header_timeout = 10 }
              |                                                                                 ^^
              = write a number and a unit, in quotes: header_timeout = "30s"
        "#]],
    );
    check(
        "[assets]\nstore = \"ftp://x\"\n[otel]\nendpoint = \"127.0.0.1:4318\"",
        &expect![[r#"
        tenure.toml:2:9: `ftp://x` is not a place for assets
          |
        2 | store = "ftp://x"
          |         ^^^^^^^^^
          = write file:FOLDER, or s3://bucket/prefix

        tenure.toml:4:12: `otel.endpoint` is not a URL that begins with http:// or https://
          |
        4 | endpoint = "127.0.0.1:4318"
          |            ^^^^^^^^^^^^^^^^
          = write http://host…
    "#]],
    );
}

#[test]
fn words_that_are_not_known_are_told() {
    check(
        "[log]\nformat = \"jsn\"\nfilter = \"info,tenure=loud\"",
        &expect![[r#"
        tenure.toml:2:10: `jsn` is not a value of `log.format`
          |
        2 | format = "jsn"
          |          ^^^^^
          = did you mean `json`?

        tenure.toml:3:10: `info,tenure=loud` is not a filter: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5
          |
        3 | filter = "info,tenure=loud"
          |          ^^^^^^^^^^^^^^^^^^
          = write a level, or levels for targets: info, warn,tenure_store=debug
    "#]],
    );
    check(
        "[auth.jwt]\nissuer = \"me\"\njwks = \"s3://x\"\nalgorithms = [\"RS256\", \"HS256\"]",
        &expect![[r#"
        tenure.toml:1:1: [auth.jwt] lacks auth.jwt.audience
          |
        1 | [auth.jwt]
          | ^^^^^^^^^^
          = say auth.jwt.issuer, auth.jwt.audience and auth.jwt.jwks, or nothing of [auth.jwt]

        tenure.toml:3:8: `auth.jwt.jwks` is not a URL that begins with https:// or http://
          |
        3 | jwks = "s3://x"
          |        ^^^^^^^^
          = write https://host…

        tenure.toml:4:24: `HS256` is not a signature that is taken
          |
        4 | algorithms = ["RS256", "HS256"]
          |                        ^^^^^^^
          = public keys cannot check shared secrets; there are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 and EdDSA
    "#]],
    );
    check(
        "[tls]\ncertificate = \"\"",
        &expect![[r#"
        tenure.toml:1:1: [tls] lacks tls.key
          |
        1 | [tls]
          | ^^^^^
          = say tls.certificate and tls.key, or nothing of [tls]

        tenure.toml:2:15: `tls.certificate` is empty
          |
        2 | certificate = ""
          |               ^^
          = say something, or remove the line
    "#]],
    );
}

#[test]
fn bounds_are_kept() {
    check(
        "[limits]\npayload = \"2 MiB\"\nbody = \"1 KiB\"\nconnections = 9999999999\nheader_timeout = \"1ms\"",
        &expect![[r#"
            tenure.toml:2:11: `limits.payload` is 2 MiB, which is out of bounds
              |
            2 | payload = "2 MiB"
              |           ^^^^^^^
              = 1 B to 1 MiB will do

            tenure.toml:3:8: a body of 1 KiB cannot carry a payload of 1 MiB
              |
            3 | body = "1 KiB"
              |        ^^^^^^^
              = let limits.body be the larger one

            tenure.toml:4:15: `limits.connections` is 9999999999, which is out of bounds
              |
            4 | connections = 9999999999
              |               ^^^^^^^^^^
              = a whole number from 1 to 1000000 will do

            tenure.toml:5:18: `limits.header_timeout` is 1ms, which is too short
              |
            5 | header_timeout = "1ms"
              |                  ^^^^^
              = 100ms is the least
        "#]],
    );
    check(
        "[limits]\nbody = 0x400",
        &expect![[r#"
        tenure.toml:2:8: a body of 1 KiB cannot carry a payload of 1 MiB
          |
        2 | body = 0x400
          |        ^^^^^
          = let limits.body be the larger one
    "#]],
    );
}

#[test]
fn tables_that_are_none_and_empty_ones_are_told() {
    check(
        "limits = 3\ntypes = []\nauth.jwt = true",
        &expect![[r#"
        tenure.toml:1:10: `limits` must be a table, and this is a number
          |
        1 | limits = 3
          |          ^
          = write [limits]

        tenure.toml:2:9: `types` must be a table, and this is a list
          |
        2 | types = []
          |         ^^
          = write [types]

        tenure.toml:3:12: `auth.jwt` must be a table, and this is true or false
          |
        3 | auth.jwt = true
          |            ^^^^
          = write [auth.jwt]
    "#]],
    );
    check(
        "[auth.jwt]\n[otel]\n[tls]",
        &expect![[r#"
            tenure.toml:1:1: [auth.jwt] lacks auth.jwt.issuer, auth.jwt.audience and auth.jwt.jwks
              |
            1 | [auth.jwt]
              | ^^^^^^^^^^
              = say auth.jwt.issuer, auth.jwt.audience and auth.jwt.jwks, or nothing of [auth.jwt]

            tenure.toml:2:1: [otel] lacks otel.endpoint
              |
            2 | [otel]
              | ^^^^^^
              = say otel.endpoint, or nothing of [otel]

            tenure.toml:3:1: [tls] lacks tls.certificate and tls.key
              |
            3 | [tls]
              | ^^^^^
              = say tls.certificate and tls.key, or nothing of [tls]
        "#]],
    );
}

#[test]
fn what_is_not_toml_is_one_flaw() {
    check(
        "listen = \"127.0.0.1:1\"\n[limits\npayload = 1\n",
        &expect![[r#"
        tenure.toml:2:8: this is not TOML: unclosed table, expected `]`
          |
        2 | [limits
          |        ^
          = names are bare, texts stand in quotes, and each `key = value` has a line of its own
    "#]],
    );
    check(
        "listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"\n",
        &expect![[r#"
        tenure.toml:2:1: `listen` stands here a second time
          |
        2 | listen = "127.0.0.1:2"
          | ^^^^^^
          = remove one of the two
    "#]],
    );
    let scene = Scene::empty();
    fs::write(scene.path("tenure.toml"), [0xff, 0xfe]).unwrap();
    expect![[r#"
        the configuration file tenure.toml cannot be read: it is not text in UTF-8
    "#]]
    .assert_eq(&scene.error());
}

#[test]
fn types_are_proved_with_their_places() {
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
fn the_policy_of_a_type_is_held_to_its_bounds() {
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
fn the_tables_of_a_type_are_proved() {
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
fn schemas_in_files_are_proved() {
    let scene = Scene::new(
        "[types]\na = { lifecycle = 'image', schema = 'a.json' }\nb = { lifecycle = 'image', schema = 'b.json' }\n\
         c = { lifecycle = 'image', schema = 'c.json' }\nd = { lifecycle = 'image', schema = { x = 1979-05-27 } }\n\
         e = { lifecycle = 'image', schema = 5 }",
    );
    let scene = scene.with("a.json", "{").with("b.json", r#"{ "type": "strnig" }"#);
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
    .assert_eq(&scene.error());
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
fn types_are_read() {
    let scene = Scene::new(RENDER).with("schemas/render.json", r#"{ "type": "object" }"#);
    let types = scene.loaded().config.definitions.types;
    assert_eq!(types.len(), 2, "there is no catch-all unless it is named");
    let render = &types[0];
    assert_eq!((render.name.as_str(), render.lifecycle.as_str()), ("render", "engine"));
    assert_eq!(render.schema, Some(serde_json::json!({ "type": "object" })));
    assert_eq!(render.guard.as_deref(), Some("has(payload.frame)"));
    assert_eq!((render.max_attempts, render.priority, render.cost), (Some(7), -3, 0));
    assert_eq!((render.lease, render.heartbeat), (Some(Millis::seconds(120)), Some(Millis::seconds(5))));
    assert_eq!(render.cancel_grace, Some(Millis::seconds(1)));
    let usual = tenure_core::lifecycle::Lifecycle::built_in();
    let usual = usual.iter().find(|lifecycle| lifecycle.name == "engine").unwrap().policy.backoff;
    let expected = Backoff { max: Millis::seconds(5), jitter: Jitter::Equal, ..usual };
    assert_eq!(render.backoff, Some(expected), "what is not said is the lifecycle's");
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
    .assert_eq(&scene.settings());
}

#[test]
fn later_levels_take_the_place_of_earlier_ones() {
    let file = "listen = \"127.0.0.1:1\"\n[log]\nformat = \"text\"\n";
    let named = |scene: &Scene, line| Origin::File { file: scene.path("tenure.toml"), line };
    let scene = Scene::new(file);
    assert_eq!(scene.setting("listen"), ("127.0.0.1:1".to_owned(), named(&scene, 1)));
    assert_eq!(scene.setting("log.format"), ("text".to_owned(), named(&scene, 3)));
    assert_eq!(scene.setting("log.filter"), ("info".to_owned(), Origin::Default));
    let scene = scene
        .variable("TENURE_LISTEN", "127.0.0.1:2")
        .variable("TENURE_LOG_FORMAT", "json")
        .variable("TENURE_LOG_FILTER", "")
        .variable("TENURE_LIMITS_PAYLOAD", "2048")
        .variable("TENURE_LIMITS_CONNECTIONS", "7");
    assert_eq!(
        scene.setting("listen"),
        ("127.0.0.1:2".to_owned(), Origin::Variable("TENURE_LISTEN".to_owned()))
    );
    assert_eq!(scene.setting("log.filter").1, Origin::Default, "a variable set to nothing says nothing");
    let config = scene.loaded().config;
    assert_eq!((config.limits.payload, config.limits.connections), (2048, 7));
    assert_eq!(config.log.format, LogFormat::Json);
    let flags = Flags { listen: Some("127.0.0.1:3".to_owned()), ..Flags::default() };
    let scene = scene.flags(flags);
    assert_eq!(scene.setting("listen"), ("127.0.0.1:3".to_owned(), Origin::Flag("--listen".to_owned())));
    assert_eq!(scene.setting("listen").1.to_string(), "--listen");
}

#[test]
fn every_level_is_held_to_the_rules() {
    let flags = Flags { listen: Some("nowhere".to_owned()), ..Flags::default() };
    let scene = Scene::new("listen = 1\n")
        .variable("TENURE_LISTEN", ":80")
        .variable("TENURE_LIMITS_CONNECTIONS", "many")
        .variable("TENURE_LOG", "debug")
        .variable("TENURE_TYPES", "x")
        .variable("TENURE_TLS_KEY", "key.pem")
        .variable("TENURE_DATABASE_URL", "mysql://ada:s3cret@db/x")
        .flags(flags);
    expect![[r#"
        tenure.toml:1:10: `listen` must be a text, and this is a number
          |
        1 | listen = 1
          |          ^
          = write it in quotes

        TENURE_LOG: this is not a setting, but the name of a table of settings
          = there are TENURE_LOG_FORMAT and TENURE_LOG_FILTER

        TENURE_TYPES: this is not a setting, but the name of a table of settings
          = types are declared in the file

        TENURE_LISTEN: `:80` is not an address to listen on
          = 0.0.0.0:80 listens on every address

        --listen: `nowhere` is not an address to listen on
          = write an IP address and a port: 127.0.0.1:7117, [::1]:7117

        TENURE_DATABASE_URL: `database_url` is not a URL that begins with postgres:// or postgresql://
          = write postgres://host…

        TENURE_LIMITS_CONNECTIONS: `limits.connections` is many, which is out of bounds
          = a whole number from 1 to 1000000 will do

        TENURE_TLS_KEY: [tls] lacks tls.certificate
          = say tls.certificate and tls.key, or nothing of [tls]
    "#]]
    .assert_eq(&scene.error());
}

#[test]
fn a_later_level_chooses_another_store() {
    let url = "postgres://ada:s3cret@db/tenure";
    let scene = Scene::new("data = \"here\"\n").variable("TENURE_DATABASE_URL", url);
    let StoreAt::Database(database) = scene.loaded().config.store else { panic!("a database") };
    assert_eq!(database.reveal(), url);
    assert_eq!(scene.setting("database_url").1.to_string(), "TENURE_DATABASE_URL");
    assert!(scene.loaded().settings.iter().all(|setting| setting.name != "data"));
    let scene = scene.flags(Flags { data: Some("there".into()), ..Flags::default() });
    assert_eq!(scene.loaded().config.store, StoreAt::Data(scene.path("there")));
}

#[test]
fn one_level_cannot_choose_two_stores() {
    check(
        "data = \"here\"\ndatabase_url = \"postgres://ada:s3cret@db/tenure\"\n",
        &expect![[r#"
        tenure.toml:2:16: `data` and `database_url` are both set, and there is one store
          |
        2 | database_url = "postgres://ada:***@db/tenure"
          |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = remove one of the two
    "#]],
    );
    let both = Flags {
        data: Some("here".into()),
        database_url: Some("postgres://db/tenure".to_owned()),
        ..Flags::default()
    };
    expect![[r#"
        --database-url: `data` and `database_url` are both set, and there is one store
          = remove one of the two
    "#]]
    .assert_eq(&Scene::empty().flags(both).error());
}

#[test]
fn passwords_are_hidden_everywhere() {
    let text = |loaded: &Loaded| format!("{:?} {:?}", loaded.config, loaded.settings);
    let scene = Scene::new("database_url = \"postgres://ada:s3cret@db/tenure?password=s3cret\"\n");
    assert!(!text(&scene.loaded()).contains("s3cret"), "{}", text(&scene.loaded()));
    assert_eq!(scene.setting("database_url").0, "postgres://ada:***@db/tenure?password=***");
    for wrong in [
        "database_url = \"mysql://ada:s3cret@db/tenure\"",
        "database_url = \"postgres://ada:s3\\qcret s3cret@db/tenure\"",
        "database_url = postgres://ada:s3cret@db/tenure",
        "database_url = [\"postgres://ada:s3cret@db/tenure\"]",
        "database_ulr = 5\n[types.x]\nlifecycle = \"postgres://ada:s3cret@db/tenure\"",
        "listen = \"postgres://ada:s3cret@db/tenure\"",
    ] {
        let error = Scene::new(wrong).error();
        assert!(!error.contains("s3cret"), "{error}");
    }
    check(
        "database_url = \"mysql://ada:s3cret@db/tenure\" # old",
        &expect![[r#"
        tenure.toml:1:16: `database_url` is not a URL that begins with postgres:// or postgresql://
          |
        1 | database_url = "mysql://ada:***@db/tenure" # old
          |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = write postgres://host…
    "#]],
    );
}

#[test]
fn relative_paths_begin_where_they_were_written() {
    let file = "data = \"store\"\n[assets]\nstore = \"file:./assets\"\n[auth.jwt]\nissuer = \"i\"\naudience = \"a\"\n\
                jwks = \"keys.json\"\n[tls]\ncertificate = \"/etc/c.pem\"\nkey = \"k.pem\"\n";
    let flags = Flags { config: Some("conf/node.toml".into()), ..Flags::default() };
    let scene = Scene::empty().with("conf/node.toml", file).flags(flags);
    let config = scene.loaded().config;
    assert_eq!(scene.loaded().file, Some(scene.path("conf/node.toml")));
    assert_eq!(config.store, StoreAt::Data(scene.path("conf/store")));
    assert_eq!(config.assets, Some(format!("file:{}", scene.path("conf/./assets").display())));
    assert_eq!(config.jwt.unwrap().jwks, scene.path("conf/keys.json").display().to_string());
    let tls = config.tls.unwrap();
    assert_eq!((tls.certificate.as_path(), tls.key), (Path::new("/etc/c.pem"), scene.path("conf/k.pem")));
    let scene = scene.variable("TENURE_DATA", "store");
    assert_eq!(scene.loaded().config.store, StoreAt::Data(scene.path("store")));
}

#[test]
fn the_file_can_be_named_by_a_variable_and_must_be_there() {
    let scene = Scene::new("listen = \"127.0.0.1:1\"").variable("TENURE_CONFIG", "other.toml");
    expect![[r#"
        the configuration file other.toml cannot be read: there is no such file
    "#]]
    .assert_eq(&scene.error());
    let scene = scene.with("other.toml", "listen = \"127.0.0.1:2\"");
    assert_eq!(scene.setting("listen").0, "127.0.0.1:2");
    let flags = Flags { config: Some(".".into()), ..Flags::default() };
    assert!(matches!(scene.flags(flags).load(), Err(ConfigError::Unreadable { .. })));
}

#[test]
fn lifecycles_are_picked_by_globs_and_added_to_those_built_in() {
    let engine = include_str!("../../../../lifecycles/engine.toml");
    let scene =
        Scene::new("lifecycles = [\"l*/*.toml\", \"lives/errand.toml\"]\n[types.a]\nlifecycle = \"errand\"")
            .with("lives/errand.toml", ERRAND)
            .with("lives/.hidden.toml", "not one")
            .with("lives/readme.md", "not one")
            .with("others/x.toml", "not one")
            .with("later/engine.toml", &engine.replace("version = 1", "version = 2"));
    let names = |scene: &Scene| -> Vec<String> {
        let lifecycles = scene.loaded().config.definitions.lifecycles;
        lifecycles.iter().map(|one| format!("{} {}", one.name, one.version)).collect()
    };
    let found = names(&scene);
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.contains(&"engine 2".to_owned()) && !found.contains(&"engine 1".to_owned()), "{found:?}");
    assert!(found.contains(&"errand 1".to_owned()), "{found:?}");
    let scene =
        Scene::empty().with("errand.toml", ERRAND).variable("TENURE_LIFECYCLES", "errand.toml, *.toml");
    assert_eq!(names(&scene).len(), 6);
}

#[test]
fn a_lifecycle_that_fails_its_check_is_told_with_its_flaws() {
    let scene = Scene::new("lifecycles = [\"lives/*.toml\"]\n[types.a]\nlifecycle = \"errand\"")
        .with("lives/errand.toml", &ERRAND.replace("to   = \"done\"", "to   = \"dne\""));
    expect![[r#"
        lives/errand.toml:25:8: L1 `dne` is not a state of this lifecycle
           |
        25 | to   = "dne"
           |        ^^^^^
           = did you mean `done`? the states are queued, running, done and failed
    "#]]
    .assert_eq(&scene.error());
}

#[test]
fn patterns_that_pick_nothing_are_told() {
    check(
        "lifecycles = [\"lives/*.toml\", \"a.toml\", \"**/a.toml\", 5]\ntypes.a.lifecycle = \"errand\"",
        &expect![[r#"
        tenure.toml:1:54: `lifecycles` must be a text, and this is a number
          |
        1 | lifecycles = ["lives/*.toml", "a.toml", "**/a.toml", 5]
          |                                                      ^
          = write it in quotes
    "#]],
    );
    check(
        "lifecycles = [\"lives/*.toml\", \"a.toml\", \"**/a.toml\"]",
        &expect![[r#"
        tenure.toml:1:15: `lives/*.toml` picks no file
          |
        1 | lifecycles = ["lives/*.toml", "a.toml", "**/a.toml"]
          |               ^^^^^^^^^^^^^^
          = it is looked for from .

        tenure.toml:1:31: `a.toml` picks no file
          |
        1 | lifecycles = ["lives/*.toml", "a.toml", "**/a.toml"]
          |                               ^^^^^^^^
          = it is looked for from .

        tenure.toml:1:41: `**/a.toml` has two stars in a row
          |
        1 | lifecycles = ["lives/*.toml", "a.toml", "**/a.toml"]
          |                                         ^^^^^^^^^^^
          = a `*` stands for any part of one name; write a pattern for each folder
    "#]],
    );
    let scene = Scene::new("lifecycles = [\"*/errand.toml\"]")
        .with("a/errand.toml", ERRAND)
        .with("b/errand.toml", ERRAND);
    expect![[r#"
        b/errand.toml: lifecycle errand version 1 is in a/errand.toml too
          = rename it, or give it the next version
    "#]]
    .assert_eq(&scene.error());
}

#[test]
fn the_documentation_names_every_setting_and_its_default() {
    let docs = include_str!("../../../../docs/configuration.md");
    let defaults = Scene::empty().loaded().settings;
    for key in config::KEYS {
        let row = docs.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("docs/configuration.md has no row for {}", key.name));
        assert!(row.contains(&format!("`{}`", key.variable())), "{row}");
        assert!(key.flag.is_none_or(|flag| row.contains(&format!("`{flag}`"))), "{row}");
        let default = defaults.iter().find(|setting| setting.name == key.name && key.name != "data");
        if let Some(default) = default {
            assert!(row.contains(&format!("`{}`", default.value)), "{row}");
        }
    }
}

#[test]
fn webhooks_are_read() {
    let scene = Scene::new(
        "[limits]\ncreations_per_second = 7\n[webhooks]\nallow = [\"10.0.0.0/8\", \"::1\"]\nretry = []\n",
    );
    let Loaded { config, .. } = scene.loaded();
    assert_eq!(config.limits.creations_per_second, Some(7));
    assert_eq!((config.webhooks.allow.len(), config.webhooks.retry.len()), (2, 0));
    assert_eq!(scene.setting("webhooks.allow").0, "10.0.0.0/8, ::1/128");
    check(
        "[limits]\ncreations_per_second = 0\n[webhooks]\nallow = [\"10.0.0.0/33\"]\nretry = [\"5s\", \"soon\"]",
        &expect![[r#"
            tenure.toml:2:24: `limits.creations_per_second` is 0, which is out of bounds
              |
            2 | creations_per_second = 0
              |                        ^
              = a whole number from 1 to 1000000 will do

            tenure.toml:4:10: `10.0.0.0/33` is not a block of addresses
              |
            4 | allow = ["10.0.0.0/33"]
              |          ^^^^^^^^^^^^^
              = write an address, or one with a prefix: 10.0.0.0/8, fd00::/8

            tenure.toml:5:16: `soon` is not a duration
              |
            5 | retry = ["5s", "soon"]
              |                ^^^^^^
              = write it like "5s", "5m" or "2h"
        "#]],
    );
}
