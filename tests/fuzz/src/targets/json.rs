//! The JSON check: what it accepts, `serde_json` accepts, and the text stays as it was; written again, in another layout or
//! order of keys, it means the same and has the same digest.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use tenure_core::json::{Json, JsonFlaw, quote_unreadable_numbers};
use tenure_core::limits::JSON_DEPTH_MAX;

pub(super) fn check(input: &[u8]) {
    let Some(text) = super::text(input) else { return };
    let quoted = quote_unreadable_numbers(text);
    let read = serde_json::from_str::<Value>(text);
    match Json::parse(text) {
        Ok(json) => {
            let value = read.expect("serde_json reads what the check accepts");
            assert!(matches!(quoted, Cow::Borrowed(_)), "an accepted text has no number that cannot be read");
            check_accepted(text, &json, &value);
        }
        Err(JsonFlaw::Malformed(_)) => assert!(read.is_err(), "the check refuses what serde_json reads"),
        Err(JsonFlaw::NumberTooLarge(_)) => {
            assert!(read.is_err(), "the check finds a number too large that serde_json reads");
        }
        Err(JsonFlaw::Nul) => assert!(text.contains("\\u0000"), "there is no U+0000"),
        Err(JsonFlaw::TooDeep) => {
            let opened = text.matches(['[', '{']).count();
            assert!(opened > JSON_DEPTH_MAX, "{opened} levels are not too many");
        }
        Err(JsonFlaw::DuplicateKey(_)) => assert!(text.matches('"').count() >= 4, "there are no two keys"),
    }
}

fn check_accepted(text: &str, json: &Json, value: &Value) {
    let trimmed = text.trim_matches([' ', '\t', '\n', '\r']);
    assert_eq!(json.as_str(), trimmed);
    assert_eq!(serde_json::to_string(json).expect("a Json is valid"), trimmed);
    assert_eq!(json.to_value().as_ref(), Ok(value));
    let digests = [(false, ""), (true, ""), (false, " "), (true, "\r\n")].map(|(is_reversed, space)| {
        let mut written = String::new();
        write(value, is_reversed, space, &mut written);
        let again = Json::parse(&written).expect("what is written again is accepted");
        assert!(is_same(&again.to_value().expect("an accepted text is readable"), value), "{written}");
        again.digest()
    });
    assert!(digests.iter().all(|digest| *digest == digests[0]), "layout and order of keys change the digest");
    // Numbers and escapes may be written in other ways; all other texts have the digest of their value.
    if !text.contains(|c: char| c.is_ascii_digit()) {
        assert_eq!(json.digest(), digests[0]);
    }
}

/// Whether two values are the same. `serde_json` reads a number with an error in its last digit at most.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same =
                |(key, value): (&String, &Value)| right.get(key).is_some_and(|other| is_same(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        (Value::Number(left), Value::Number(right)) if left.is_f64() && right.is_f64() => {
            let (left, right) = (left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default());
            (left - right).abs() <= 1e-15 * left.abs().max(right.abs())
        }
        _ => left == right,
    }
}

/// Writes a value with the members of objects in order or reversed, and with this space between all parts.
fn write(value: &Value, is_reversed: bool, space: &str, to: &mut String) {
    let mut first = true;
    let mut separator = |to: &mut String| {
        to.push_str(if std::mem::take(&mut first) { space } else { "," });
        to.push_str(space);
    };
    match value {
        Value::Array(items) => {
            to.push('[');
            for item in items {
                separator(to);
                write(item, is_reversed, space, to);
            }
            to.push(']');
        }
        Value::Object(members) => {
            to.push('{');
            let mut members: Vec<_> = members.iter().collect();
            if is_reversed {
                members.reverse();
            }
            for (key, value) in members {
                separator(to);
                let _ = write!(to, "{}{space}:", Value::from(key.as_str()));
                write(value, is_reversed, space, to);
            }
            to.push('}');
        }
        other => {
            let _ = write!(to, "{other}");
        }
    }
}
