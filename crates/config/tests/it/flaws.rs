//! What is reported about a flawed configuration file.

use std::fs;

use expect_test::expect;

use crate::fixture::{Fixture, check};

#[test]
fn unknown_keys_are_reported_with_a_suggestion() {
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
fn invalid_values_are_reported_together() {
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
fn unknown_keywords_are_reported() {
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
fn values_out_of_range_are_reported() {
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
fn tables_of_the_wrong_type_and_incomplete_tables_are_reported() {
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
fn a_syntax_error_is_the_only_flaw() {
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
    let fixture = Fixture::empty();
    fs::write(fixture.path("tenure.toml"), [0xff, 0xfe]).unwrap();
    expect![[r#"
        the configuration file tenure.toml cannot be read: it is not text in UTF-8
    "#]]
    .assert_eq(&fixture.error());
}

#[test]
fn webhook_settings_are_loaded() {
    let fixture = Fixture::new(
        "[limits]\ncreations_per_second = 7\n[webhooks]\nallow = [\"10.0.0.0/8\", \"::1\"]\nretry = []\n",
    );
    let config = fixture.loaded().config;
    assert_eq!(config.limits.creations_per_second, Some(7));
    assert_eq!((config.webhooks.allow.len(), config.webhooks.retry.len()), (2, 0));
    assert_eq!(fixture.setting("webhooks.allow").0, "10.0.0.0/8, ::1/128");
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
