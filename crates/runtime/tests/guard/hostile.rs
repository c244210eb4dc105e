//! Hostile guards and payloads. Everything runs on a thread with a small stack, to detect recursion.

use serde_json::{Value as Json, json};
use tenure_runtime::guard::{GUARD_BYTES_MAX, GUARD_DEPTH_MAX, Guard};

use crate::result;

const TOO_COSTLY: &str = "the guard takes more than 8388608 steps on this payload";

/// Half the stack of a thread of the runtime.
fn on_a_small_stack(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(test);
    thread.expect("a thread starts").join().expect("the test passes");
}

#[test]
fn nesting_is_limited() {
    on_a_small_stack(|| {
        let nested = |open: &str, close: &str, count: usize| {
            format!("{}true{}", open.repeat(count), close.repeat(count))
        };
        for (open, close) in
            [("(", ")"), ("!", ""), ("[", "] == [true]"), ("true ? ", ": true"), ("{1:", "} == {}")]
        {
            let allowed = nested(open, close, GUARD_DEPTH_MAX);
            if open == "(" || open == "!" {
                assert_eq!(result(&allowed, &json!({})), "true");
            }
            for count in [GUARD_DEPTH_MAX + 1, 100, 1000] {
                let flaw = Guard::parse(&nested(open, close, count)).unwrap_err();
                let expected = ["nests at most 32 deep", "more than 4096"];
                assert!(expected.iter().any(|part| flaw.message.contains(part)), "{}", flaw.message);
            }
        }
        let flaw = Guard::parse(&"(".repeat(GUARD_BYTES_MAX)).unwrap_err();
        assert_eq!((flaw.message.as_str(), flaw.start), ("a guard nests at most 32 deep", 33));
        let flaw = Guard::parse(&"[".repeat(10_000)).unwrap_err();
        assert_eq!(flaw.message, "the guard has 10000 bytes, more than 4096");
    });
}

#[test]
fn the_deepest_guards_are_evaluated() {
    on_a_small_stack(|| {
        // Each level of the first uses every operator; the others use every kind of bracket.
        for (level, per_level) in [
            ("(false||true&&0<1+1*_?1:2)", 1),
            ("[1][_-1]", 1),
            ("{1:_}[1]", 1),
            ("int(string(_))", 2),
            ("(''.startsWith(string(_))?2:1)", 3),
        ] {
            let levels = (GUARD_DEPTH_MAX - 1) / per_level;
            let deepest = (0..levels).fold("1".to_owned(), |inner, _| level.replace('_', &inner));
            assert_eq!(result(&format!("{deepest}==1"), &json!({})), "true", "{level}");
        }
    });
}

#[test]
fn long_chains_are_flat() {
    on_a_small_stack(|| {
        let chain = |part: &str, joint: &str| {
            let count = (GUARD_BYTES_MAX - 20) / (part.len() + joint.len());
            (vec![part; count].join(joint), count)
        };
        assert_eq!(result(&chain("true", "&&").0, &json!({})), "true");
        assert_eq!(result(&chain("false", "||").0, &json!({})), "false");
        assert_eq!(result(&chain("payload.x", "||").0, &json!({})), "payload.x is missing");
        let (sum, count) = chain("1", "+");
        assert_eq!(result(&format!("{sum}=={count}"), &json!({})), "true");
        let (ones, count) = chain("1", ",");
        assert_eq!(result(&format!("size([{ones}])=={count}"), &json!({})), "true");
        assert_eq!(result(&format!("payload{}", ".x".repeat(2000)), &json!({})), "payload.x is missing");
        assert_eq!(result(&format!("payload{}==1", "[0]".repeat(1000)), &json!([])), "payload[0] is missing");
        assert!(result(&chain("1", "<").0, &json!({})).contains("to a bool and an int"));
    });
}

#[test]
fn evaluation_stops_at_the_budget() {
    on_a_small_stack(|| {
        let long = json!({ "p": "x".repeat(1 << 20), "l": vec![0; 500_000] });
        let sum = vec!["payload.p"; 100].join("+");
        assert_eq!(result(&format!("({sum}).startsWith('y')"), &long), TOO_COSTLY);
        let joined = vec!["payload.l"; 100].join("+");
        assert_eq!(result(&format!("size({joined}) > 0"), &long), TOO_COSTLY);
        let matched = vec!["payload.p.matches('y$')"; 100].join("||");
        assert_eq!(result(&matched, &long), TOO_COSTLY);
        let sought = vec!["1 in payload.l"; 100].join("||");
        assert_eq!(result(&sought, &long), TOO_COSTLY);
        let equal = vec!["payload == payload"; 100].join("&&");
        assert_eq!(result(&equal, &long), TOO_COSTLY);
        let keys = (0..100).map(|n| format!("payload.p + '{n}': 1")).collect::<Vec<_>>().join(",");
        assert_eq!(result(&format!("size({{{keys}}}) > 0"), &long), TOO_COSTLY);
    });
}

#[test]
fn an_exhausted_budget_is_not_absorbed() {
    let long = json!({ "p": "x".repeat(1 << 20) });
    let matched = ["payload.p.matches('y$')"; 9].join("||");
    assert_eq!(result(&format!("{matched} || true"), &long), TOO_COSTLY);
    assert_eq!(result(&format!("({matched}) && false"), &long), TOO_COSTLY);
}

#[test]
fn the_largest_payload_can_be_read_several_times() {
    let long = json!({ "p": "é".repeat(1 << 19) });
    let guard = "size(payload.p) == 524288 && !payload.p.contains('x') && payload.p.matches('^é+$') && payload == payload";
    assert_eq!(result(guard, &long), "true");
}

#[test]
fn comparison_of_deep_payloads_is_limited() {
    on_a_small_stack(|| {
        let nested = |depth| (0..depth).fold(json!(1), |inner, _| Json::Array(vec![inner]));
        assert_eq!(result("payload == payload", &nested(64)), "true");
        assert_eq!(result("payload == payload", &nested(500)), "the compared values are nested too deep");
    });
}

#[test]
fn patterns_take_linear_time_on_any_text() {
    let text = json!({ "p": format!("{}!", "a".repeat(1 << 20)) });
    assert_eq!(result("payload.p.matches('^(a+)+$')", &text), "false");
    assert_eq!(result("payload.p.matches('(a|aa)+$')", &text), "false");
    assert_eq!(result("payload.p.matches('^(.*.*)*x$')", &text), "false");
}
