//! Tests that the description agrees with the parsers, and that generators of clients can read it.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::describe;
use crate::request::{Claim, Grant, NewAsset, NewJob, Report};

fn schema(name: &str) -> Validator {
    let description = describe();
    let whole =
        json!({ "$ref": format!("#/components/schemas/{name}"), "components": description["components"] });
    jsonschema::validator_for(&whole).expect("the schema is valid")
}

/// Every text of up to `length` of these characters.
fn texts(characters: &[char], length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..length {
        let shorter = from..all.len();
        from = all.len();
        for index in shorter {
            all.extend(
                characters.iter().map(|character| format!("{}{character}", all[index])).collect::<Vec<_>>(),
            );
        }
    }
    all
}

#[test]
fn the_pattern_of_a_duration_matches_what_the_parser_accepts() {
    let span = schema("Span");
    let texts = texts(&['0', '7', ' ', 'm', 's', 'd', '\t', '\u{a0}', '-'], 5);
    let more =
        ["1m 30s", " 1m  30s ", "1m\n30s", "1h30m", "100 ms", "36500d", "5\u{feff}s", "5\u{85}s", "٣s"];
    for text in texts.iter().map(String::as_str).chain(more) {
        let described = span.is_valid(&text.into());
        assert_eq!(described, crate::span::parse(text).is_some(), "{text:?}");
    }
}

#[test]
fn an_integer_of_the_description_is_an_integer_of_the_parser() {
    let numbers = [
        "0",
        "1",
        "5295",
        "5295.0",
        "5.295e3",
        "1.0",
        "-1.0",
        "-0.0",
        "1.5",
        "1e3",
        "1000.0",
        "1001",
        "1e6",
        "-1e6",
        "2e9",
        "9007199254740992.0",
        "9007199254740994",
        "true",
        "\"5\"",
        "null",
    ];
    // Bounds that only the server checks.
    let is_within = |bounds: (f64, f64), number: &Value| {
        number.as_f64().is_none_or(|number| (bounds.0..=bounds.1).contains(&number))
    };
    let all = (0.0, f64::MAX);
    for number in numbers {
        let value: Value = serde_json::from_str(number).unwrap();
        let check = |name: &str, body: String, bounds, parsed: bool| {
            let described = schema(name).is_valid(&serde_json::from_str(&body).unwrap());
            assert_eq!(described, parsed && is_within(bounds, &value), "{name} {body}");
        };
        let body = format!(r#"{{"worker":"w1","fence":{number}}}"#);
        // An absent fence is refused by the server, not by the parser.
        let parsed =
            |body: &str| serde_json::from_str::<Report>(body).is_ok_and(|report| report.fence.is_some());
        check("StartBody", body.clone(), all, parsed(&body));
        let body = format!(r#"{{"type":"t","priority":{number}}}"#);
        check("NewJob", body.clone(), (-1e6, 1e6), serde_json::from_str::<NewJob>(&body).is_ok());
        let body = format!(r#"{{"type":"t","max_attempts":{number}}}"#);
        check("NewJob", body.clone(), (1.0, 1e3), serde_json::from_str::<NewJob>(&body).is_ok());
        let body = format!(r#"{{"worker":"w1","max":{number}}}"#);
        check("Claim", body.clone(), (1.0, 1e3), serde_json::from_str::<Claim>(&body).is_ok());
        let body = format!(r#"{{"grant":{number},"reason":"r"}}"#);
        let max = 9_007_199_254_740_992.0;
        check("Grant", body.clone(), (1.0, max), serde_json::from_str::<Grant>(&body).is_ok());
        let body = format!(r#"{{"asset_type":"t","url":"http://a","file_size":{number}}}"#);
        check("NewAsset", body.clone(), (0.0, max), serde_json::from_str::<NewAsset>(&body).is_ok());
    }
}

/// Calls `visit` with every object in a value, and with those that its references lead to, each once.
fn walk<'a>(
    description: &'a Value,
    value: &'a Value,
    seen: &mut BTreeSet<&'a str>,
    visit: &mut impl FnMut(&'a Value),
) {
    match value {
        Value::Object(members) => {
            visit(value);
            if let Some(reference) = members.get("$ref").and_then(Value::as_str)
                && seen.insert(reference)
            {
                let target = description.pointer(&reference[1..]).expect("references resolve");
                walk(description, target, seen, visit);
            }
            members.values().for_each(|member| walk(description, member, seen, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| walk(description, item, seen, visit)),
        _ => {}
    }
}

/// Every object of the parts of all operations with this name.
fn visit_part(description: &Value, part: &str, mut visit: impl FnMut(&Value)) {
    let mut seen = BTreeSet::new();
    let paths = description["paths"].as_object().unwrap().values();
    for operation in paths.flat_map(|path| path.as_object().unwrap().values()) {
        walk(description, &operation[part], &mut seen, &mut visit);
    }
}

#[test]
fn answers_may_gain_fields_and_requests_may_not() {
    let description = describe();
    visit_part(&description, "responses", |found| {
        assert_ne!(found["additionalProperties"], false, "{found}");
    });
    let mut closed = 0;
    visit_part(&description, "requestBody", |found| {
        // The rules of a schema repeat some of its properties.
        if found["type"] == "object" && found["properties"].is_object() {
            assert_eq!(found["additionalProperties"], false, "{found}");
            closed += 1;
        }
    });
    assert!(closed > 30, "{closed}");
}

#[test]
fn a_field_with_a_default_is_optional_for_generators() {
    visit_part(&describe(), "requestBody", |found| assert!(found["default"].is_null(), "{found}"));
}

#[test]
fn constants_and_lists_of_words_have_a_type() {
    let description = describe();
    let mut constants = 0;
    walk(&description, &description, &mut BTreeSet::new(), &mut |found| {
        let is_schema = |keyword: &str| found.get(keyword).is_some_and(|value| !value.is_object());
        if is_schema("const") || is_schema("enum") {
            assert!(!found["type"].is_null(), "{found}");
            constants += 1;
        }
    });
    assert!(constants > 60, "{constants}");
}
