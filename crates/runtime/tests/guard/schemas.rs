//! Schemas: which are refused when loaded, and the errors of payloads.

use serde_json::{Value as Json, json};
use tenure_runtime::schema::{SCHEMA_ERRORS_MAX, Schema};

use crate::cases;

/// The errors of a payload, as `pointer detail`.
fn errors(schema: &Json, payload: &Json) -> Vec<String> {
    let schema = Schema::parse(schema).unwrap_or_else(|flaw| panic!("{schema} is refused: {flaw:?}"));
    schema.check(payload).iter().map(ToString::to_string).collect()
}

/// Why a schema is refused: `pointer message`.
fn flaw(schema: &Json) -> String {
    let flaw = Schema::parse(schema).expect_err(&schema.to_string());
    format!("{} {}", flaw.pointer, flaw.message)
}

/// Each line: a schema, and why it is refused.
fn check_flaws(table: &str) {
    for (schema, expected) in cases(table) {
        assert_eq!(flaw(&json(schema)), expected);
    }
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("a case is JSON")
}

#[test]
fn errors_have_the_pointer_of_their_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "prompt": { "type": "string", "maxLength": 5 },
            "size": { "enum": ["small", "large"] },
            "tags": { "items": { "type": "string", "pattern": "^[a-z]+$" }, "uniqueItems": true },
            "a/b~c": { "minimum": 3 },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    assert_eq!(errors(&schema, &json!({ "prompt": "a cat", "size": "small", "tags": ["x"] })), [""; 0]);
    assert_eq!(errors(&schema, &json!({})), [r#"#/payload has no property "prompt""#]);
    assert_eq!(errors(&schema, &json!([])), ["#/payload is not of type object"]);
    let payload =
        json!({ "prompt": "too long", "size": "s3cret", "tags": [1, "S3CRET"], "a/b~c": 1, "x/y": 1 });
    let mut all = errors(&schema, &payload);
    all.sort();
    let expected = [
        "#/payload/a~1b~0c is less than 3",
        "#/payload/prompt is longer than 5 characters",
        r#"#/payload/size is not one of ["small","large"]"#,
        "#/payload/tags/0 is not of type string",
        "#/payload/tags/1 does not match the pattern ^[a-z]+$",
        "#/payload/x~1y is not a property that the schema allows",
    ];
    assert_eq!(all, expected);
}

#[test]
fn no_keyword_makes_an_error_quote_a_value() {
    for (schema, payload) in cases(include_str!("cases/schemas_and_secrets.txt")) {
        let errors = errors(&json(schema), &json(payload));
        let quotes = errors.iter().any(|error| error.contains("s3cret"));
        assert!(!errors.is_empty() && !quotes, "{schema}: {errors:?}");
    }
    let names = json!({ "propertyNames": { "maxLength": 2 } });
    let found = errors(&names, &json!({ "s3cret": 1 }));
    assert_eq!(found, ["#/payload has a property whose name the schema does not allow"]);
}

#[test]
fn nothing_outside_the_schema_is_fetched() {
    for uri in ["http://127.0.0.1:9/x.json", "https://example.com/x.json", "file:///etc/hostname", "x.json"] {
        let outside = format!("# `{uri}` is outside this schema, and references are not fetched");
        assert_eq!(flaw(&json!({ "$ref": uri })), outside);
        let nested = json!({ "properties": { "a": { "items": { "$ref": uri } } } });
        for schema in [nested, json!({ "$schema": uri }), json!({ "$dynamicRef": uri })] {
            assert!(Schema::parse(&schema).is_err(), "{schema}");
        }
    }
    let nowhere = flaw(&json!({ "$ref": "#/$defs/x" }));
    assert_eq!(nowhere, "# a reference leads to `/$defs/x`, which does not exist");
}

#[test]
fn references_inside_the_schema_are_followed() {
    let tree = json!({
        "$defs": { "node": {
            "type": "object",
            "properties": { "left": { "$ref": "#/$defs/node" }, "right": { "$ref": "#/$defs/node" } },
            "additionalProperties": false,
        } },
        "$ref": "#/$defs/node",
    });
    assert_eq!(errors(&tree, &json!({ "left": { "right": {} } })), [""; 0]);
    let wrong = json!({ "left": { "right": 1 } });
    assert_eq!(errors(&tree, &wrong), ["#/payload/left/right is not of type object"]);
    let deep = (0..60).fold(json!(1), |inner, _| json!({ "left": inner }));
    assert_eq!(errors(&tree, &deep), [format!("#/payload{} is not of type object", "/left".repeat(60))]);
}

#[test]
fn patterns_run_on_the_linear_engine() {
    check_flaws(include_str!("cases/schema_patterns.txt"));
    assert!(Schema::parse(&json!({ "patternProperties": { "(?=a)b": true } })).is_err());
    let schema = json!({ "pattern": "^(a+)+$" });
    assert_eq!(errors(&schema, &json!(format!("{}!", "a".repeat(1 << 20)))).len(), 1);
    assert_eq!(errors(&json!({ "pattern": "^[\\p{L} ]{1,50}$" }), &json!("Äpfel und Birnen")), [""; 0]);
}

#[test]
fn an_invalid_schema_is_refused_with_its_pointer() {
    check_flaws(include_str!("cases/invalid_schemas.txt"));
}

#[test]
fn size_depth_and_references_are_bounded() {
    let long = json!({ "description": "x".repeat(64 << 10) });
    assert_eq!(flaw(&long), "# the schema has 65554 bytes, more than 65536");
    let nested = |depth| (0..depth).fold(json!(true), |inner, _| json!({ "not": inner }));
    assert!(Schema::parse(&nested(64)).is_ok());
    assert!(flaw(&nested(65)).ends_with("a schema nests at most 64 deep"));
    assert!(flaw(&nested(1000)).ends_with("a schema nests at most 64 deep"));
    let refs = |count: usize| json!({ "$defs": { "a": true }, "allOf": vec![json!({ "$ref": "#/$defs/a" }); count] });
    assert!(Schema::parse(&refs(256)).is_ok());
    assert!(flaw(&refs(257)).ends_with("a schema has at most 256 references"));
}

#[test]
fn at_most_twenty_errors_are_reported_with_short_pointers() {
    let strings = json!({ "items": { "type": "string" } });
    assert_eq!(errors(&strings, &json!(vec![1; 1000])).len(), SCHEMA_ERRORS_MAX);
    assert_eq!(errors(&strings, &json!(vec![1; 100_000])), ["#/payload/0 is not of type string"]);
    let empty = json!({ "additionalProperties": false });
    let not_allowed = "has properties that the schema does not allow";
    assert_eq!(errors(&empty, &json!({ "a": 1 })), [format!("#/payload {not_allowed}")]);
    let closed = json!({ "properties": { "p": true }, "additionalProperties": false });
    let many: serde_json::Map<String, Json> = (0..100).map(|n| (n.to_string(), json!(1))).collect();
    assert_eq!(errors(&closed, &Json::Object(many)).len(), SCHEMA_ERRORS_MAX);
    let long = json!({ "a": { "k".repeat(1 << 16): 1 } });
    let schema = json!({ "properties": { "a": closed } });
    assert_eq!(errors(&schema, &long), [format!("#/payload/a {not_allowed}")]);
    let schema = json!({ "const": "v".repeat(10_000) });
    assert!(errors(&schema, &json!(1))[0].len() < 300);
}

#[test]
fn the_cost_of_explaining_a_recursive_schema_is_limited() {
    // The library takes exponential time here; without a limit this test does not end.
    let operation = |name: &str| json!({ "properties": { "op": { "const": name }, "of": { "$ref": "#" } }, "required": ["op"] });
    let schema = json!({ "anyOf": [operation("and"), operation("or")] });
    let nested = |depth| (0..depth).fold(json!({}), |inner, _| json!({ "op": "and", "of": inner }));
    assert_eq!(errors(&schema, &nested(2)), ["#/payload matches none of the schemas under anyOf"]);
    let too_large = ["#/payload does not match the schema; it is too large to report where"];
    assert_eq!(errors(&schema, &nested(60)), too_large);
}

#[test]
fn no_schema_and_payload_together_overflow_the_stack() {
    // Each level of the payload goes through every definition before the next.
    let chain = |length: usize| {
        let last = json!({ "properties": { "n": { "$ref": "#" } }, "required": ["x"] });
        let definition = |n: usize| {
            let next = json!({ "allOf": [{ "$ref": format!("#/$defs/c{}", n + 1) }, true] });
            if n + 1 < length { next } else { last.clone() }
        };
        let definitions: serde_json::Map<String, Json> =
            (0..length).map(|n| (format!("c{n}"), definition(n))).collect();
        json!({ "$defs": definitions, "$ref": "#/$defs/c0" })
    };
    let nested = (0..63).fold(json!({}), |inner, _| json!({ "n": inner, "x": 1 }));
    let missing = format!("#/payload{} has no property \"x\"", "/n".repeat(63));
    for length in [1, 20, 40] {
        assert_eq!(errors(&chain(length), &nested), [missing.as_str()]);
    }
    for length in [60, 100, 254] {
        assert_eq!(errors(&chain(length), &nested), ["#/payload is nested too deep for the schema"]);
    }
}
