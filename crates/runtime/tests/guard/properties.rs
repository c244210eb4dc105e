//! Properties of all guards: no text makes the parser panic, and every valid guard evaluates to a result.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tenure_runtime::guard::{Guard, GuardError, GuardInput};

fn admits(guard: &Guard, payload: &Json) -> Result<bool, GuardError> {
    guard.admits(&GuardInput { payload, user_id: None, now_ms: 0 })
}

fn payload() -> Json {
    json!({ "a": 1, "b": "text", "c": [1, 2.5, "x", null], "d": { "a": true } })
}

/// One of these words.
fn one_of(words: &'static str) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(words.split_whitespace().collect::<Vec<_>>())
}

/// Words and symbols of the language in random order: close enough to guards to get far into the parser.
fn tokens() -> impl Strategy<Value = String> {
    let words = r#"payload .a .b user_id now size has matches int in true null 1 - 9223372036854775807 1.5 "a" ' \ r"
        ( ) [ ] { } , : ? ! && || == < + * / % // é 0x e9 .size() .matches("a+")"#;
    let words = prop_oneof![44 => one_of(words), 2 => prop::sample::select(vec!["\n", " "])];
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat())
}

/// A guard that parses, with random types: evaluation may fail, but must end.
fn valid() -> impl Strategy<Value = String> {
    let leaf = "payload payload.a payload.b payload.c payload.d payload.absent user_id now null true false 0 -1 \
                9223372036854775807 -9223372036854775808 1.5 1e300 'text' '' int [] {}";
    let leaf = one_of(leaf);
    leaf.prop_map(str::to_owned).prop_recursive(5, 64, 4, |inner| {
        let operators = one_of("== != < <= > >= in && || + - * / %");
        let functions = one_of("size int double string type");
        let methods = one_of("startsWith endsWith contains");
        prop_oneof![
            (inner.clone(), operators, inner.clone()).prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (functions, inner.clone()).prop_map(|(function, a)| format!("{function}({a})")),
            (inner.clone(), methods, inner.clone()).prop_map(|(a, method, b)| format!("({a}).{method}({b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("(({a})?({b}):({c}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|parts| format!("[{}]", parts.join(","))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}:{b}}}")),
            inner.clone().prop_map(|a| format!("(!({a}))")),
            inner.clone().prop_map(|a| format!("(-({a}))")),
            inner.clone().prop_map(|a| format!("has(({a}).a)")),
            inner.prop_map(|a| format!("({a}).matches('^t.*t$')")),
        ]
    })
}

/// An int expression and its value; `None` if it must be refused.
fn sum() -> impl Strategy<Value = (String, Option<i64>)> {
    let leaf = prop_oneof![any::<i64>(), -9i64..9].prop_map(|int| (int.to_string(), Some(int)));
    leaf.prop_recursive(5, 32, 2, |inner| {
        (inner.clone(), prop::sample::select(vec!['+', '-', '*', '/', '%']), inner).prop_map(
            |(a, operator, b)| {
                let value = a.1.zip(b.1).and_then(|(a, b)| {
                    let (a, b) = (i128::from(a), i128::from(b));
                    let exact = match operator {
                        '+' => Some(a + b),
                        '-' => Some(a - b),
                        '*' => Some(a * b),
                        '/' => a.checked_div(b),
                        // CEL refuses the remainder where it refuses the quotient.
                        _ if b == -1 && a == i128::from(i64::MIN) => None,
                        _ => a.checked_rem(b),
                    };
                    exact.and_then(|exact| i64::try_from(exact).ok())
                });
                (format!("({} {operator} {})", a.0, b.0), value)
            },
        )
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = Guard::parse(&text);
    }

    #[test]
    fn no_token_sequence_makes_the_parser_panic_and_flaws_lie_inside_the_text(text in tokens()) {
        match Guard::parse(&text) {
            Ok(guard) => drop(admits(&guard, &payload())),
            Err(flaw) => prop_assert!(text.get(flaw.start..flaw.end).is_some(), "{flaw:?}"),
        }
    }

    #[test]
    fn every_valid_guard_ends_within_the_budget(text in valid()) {
        let text = format!("({text}) == null");
        // It can be refused only for its length and depth: all its names are known.
        match Guard::parse(&text) {
            Ok(guard) => prop_assert!(admits(&guard, &payload()) != Err(GuardError::TooCostly)),
            Err(flaw) => prop_assert!(flaw.message.contains("at most"), "{text}: {flaw:?}"),
        }
    }

    #[test]
    fn sums_are_exact_or_refused((text, value) in sum()) {
        let expected = value.map(|value| value.to_string());
        let guard = Guard::parse(&format!("string({text}) == payload")).unwrap();
        let found = admits(&guard, &json!(expected));
        match expected {
            Some(_) => prop_assert_eq!(found, Ok(true)),
            None => prop_assert!(found.is_err(), "{:?}", found),
        }
    }

    #[test]
    fn ints_and_doubles_are_ordered_as_their_exact_values(int in any::<i64>(), off in -2i64..=2) {
        let near = int.saturating_add(off) as f64;
        // Every such double is a whole number, so 128 bits hold both exactly.
        let expected = i128::from(int) < near as i128;
        let guard = Guard::parse("payload.int < payload.double").unwrap();
        prop_assert_eq!(admits(&guard, &json!({ "int": int, "double": near })), Ok(expected));
    }
}
