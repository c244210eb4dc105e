//! What expressions come to.

use serde_json::json;
use tenure_runtime::guard::{Guard, GuardInput};

use crate::{cases, result};

/// Each line: a guard, and its answer over one payload that has something of everything.
fn check(table: &str) {
    let payload = json!({
        "prompt": "a cat", "n": 3, "price": 1.5, "whole": 2.0, "large": 9_007_199_254_740_993_i64,
        "huge": 18_446_744_073_709_551_615_u64, "tags": ["red", "blue"], "box": { "w": 512, "h": 256 },
        "empty": "", "nothing": null, "yes": true, "in": 1, "umlaut": "äöü", "digits": "42", "grid": [[1, 2], [3]],
    });
    for (guard, expected) in cases(table) {
        assert_eq!(result(guard, &payload), expected, "{guard}");
    }
}

#[test]
fn the_guard_of_the_manual_admits_a_short_and_decent_prompt_only() {
    let guard = r#"size(payload.prompt) <= 2000 && !payload.prompt.matches("(?i)forbidden")"#;
    assert_eq!(result(guard, &json!({ "prompt": "a cat" })), "true");
    assert_eq!(result(guard, &json!({ "prompt": "a ForBidden cat" })), "false");
    assert_eq!(result(guard, &json!({ "prompt": "x".repeat(2000) })), "true");
    assert_eq!(result(guard, &json!({ "prompt": "x".repeat(2001) })), "false");
    assert_eq!(result(guard, &json!({})), "payload.prompt is missing");
    assert_eq!(
        result(guard, &json!({ "prompt": 7 })),
        "payload.prompt is an int, not a string, a list or a map"
    );
}

#[test]
fn literals_mean_what_they_mean_in_cel() {
    check(
        r#"
        true                                  => true
        false                                 => false
        null == null                          => true
        0x2a == 42                            => true
        -0x2A == -42                          => true
        -9223372036854775808 < 0              => true
        9223372036854775807 > 0               => true
        1.5e1 == 15.0                         => true
        .5 == 0.5                             => true
        1e-2 == 0.01                          => true
        "a" == 'a'                            => true
        "\x41\u0042\U00000043\104" == 'ABCD'  => true
        "\a\b\f\n\r\t\v\\\?\"\'\`".size() == 12 => true
        r"\d" == "\\d"                        => true
        R'\' == "\\"                          => true
        "it's" == 'it\'s'                     => true
        [1, 2,] == [1, 2]                     => true
        {"a": 1, "b": [2]} == {"b": [2], "a": 1,} => true
        true // and a remark                  => true
        "#,
    );
}

#[test]
fn fields_and_indexes_reach_into_the_payload() {
    check(
        r#"
        payload.box.w == 512                  => true
        payload["box"]["h"] == 256            => true
        payload["in"] == 1                    => true
        payload.tags[0] == "red"              => true
        payload.grid[1][0] == 3               => true
        payload.tags[2] == "red"              => payload.tags[2] is missing
        payload.tags[-1] == "red"             => payload.tags[-1] is missing
        payload.bx.w == 1                     => payload.bx is missing
        payload.box.w.x == 1                  => payload.box.w is an int, not a map
        payload.tags["0"] == "red"            => "0" is a string, not an int
        payload[0] == 1                       => payload[0] is missing
        payload[1.0] == 1                     => 1.0 is a double, not a string, an int or a bool
        payload.nothing.x == 1                => payload.nothing is null, not a map
        payload.n[0] == 1                     => payload.n is an int, not a list or a map
        [[1], [2]][1][0] == 2                 => true
        {"a": {1: "x"}}.a[1] == "x"           => true
        {true: 1}[true] == 1                  => true
        {"a": 1}["b"] == 1                    => {"a": 1}["b"] is missing
        {"a": 1, "a": 2} == {}                => {"a": 1, "a": 2} has the same key twice
        {1.5: 1} == {}                        => 1.5 is a double, not a string, an int or a bool
        user_id == "u-1"                      => true
        now > 1600000000000                   => true
        now - 1000 == 1699999999000           => true
        "#,
    );
}

#[test]
fn a_missing_field_is_an_error_except_in_has() {
    check(
        r#"
        has(payload.prompt)                   => true
        has(payload.nothing)                  => true
        has(payload.absent)                   => false
        has(payload.box.w)                    => true
        has(payload.absent.x)                 => payload.absent is missing
        has(payload.n.x)                      => payload.n is an int, not a map
        has({"a": 1}.a)                       => true
        has(payload.absent) && payload.absent > 1 => false
        "absent" in payload                   => false
        "n" in payload                        => true
        1 in payload                          => false
        "#,
    );
}

#[test]
fn numbers_compare_by_value_and_exactly() {
    check(
        r#"
        payload.whole == 2                    => true
        payload.n == 3.0                      => true
        payload.price > 1 && payload.price < 2 => true
        payload.large == 9007199254740992.0   => false
        payload.large > 9007199254740992.0    => true
        payload.huge > 9223372036854775807    => true
        type(payload.huge) == double          => true
        type(payload.large) == int            => true
        type(payload.whole) == double         => true
        9223372036854775807 < 9223372036854775808.0 => true
        -9223372036854775808 == -9223372036854775808.0 => true
        -1 > -1.5                             => true
        0.0 / 0.0 == 0.0 / 0.0                => false
        0.0 / 0.0 != 0.0 / 0.0                => true
        0.0 / 0.0 < 1 || 0.0 / 0.0 >= 1       => false
        1.0 / 0.0 > 9223372036854775807       => true
        "a" < "b" && "a" < "aa" && false < true => true
        "1" == 1                              => false
        [1] == 1                              => false
        null == false                         => false
        "1" < 1                               => "1" < 1 applies `<` to a string and an int
        null < 1                              => null < 1 applies `<` to null and an int
        "#,
    );
}

#[test]
fn arithmetic_is_checked_and_does_not_mix_kinds() {
    check(
        r#"
        1 + 2 * 3 - 4 / 2 == 5                => true
        7 % 3 == 1 && -7 % 3 == -1 && -7 / 2 == -3 => true
        (1 + 2) * 3 == 9                      => true
        10 - 3 - 2 == 5                       => true
        --1 == 1                              => true
        -payload.n == -3                      => true
        -payload.price == -1.5                => true
        payload.price * 2.0 == 3.0            => true
        payload.prompt + "!" == "a cat!"      => true
        [1] + payload.grid[0] == [1, 1, 2]    => true
        9223372036854775807 + 1 > 0           => 9223372036854775807 + 1 does not fit in 64 bits
        -9223372036854775808 / -1 > 0         => -9223372036854775808 / -1 does not fit in 64 bits
        -9223372036854775808 % -1 == 0        => -9223372036854775808 % -1 does not fit in 64 bits
        -(-9223372036854775808) > 0           => -(-9223372036854775808) does not fit in 64 bits
        1 / 0 == 1                            => 1 / 0 divides by zero
        1 % (payload.n - 3) == 1              => 1 % (payload.n - 3) divides by zero
        1 + 1.5 > 0.0                         => 1 + 1.5 applies `+` to an int and a double
        1.5 % 1.0 == 0.5                      => 1.5 % 1.0 applies `%` to a double and a double
        "a" - "b" == ""                       => "a" - "b" applies `-` to a string and a string
        -payload.prompt == 1                  => payload.prompt is a string, not a number
        "#,
    );
}

#[test]
fn operators_bind_as_in_cel() {
    check(
        r"
        true || false && false                => true
        (true || false) && false              => false
        !false && true                        => true
        !(false && true)                      => true
        1 < 2 == true                         => true
        1 + 1 in [2]                          => true
        false ? false : true                  => true
        false ? true : false ? false : true   => true
        true || false ? false : true          => false
        payload.n > 2 ? payload.yes : payload.absent => true
        payload.absent ? true : true          => payload.absent is missing
        payload.n ? true : true               => payload.n is an int, not a bool
        !payload.n                            => payload.n is an int, not a bool
        payload.nothing                       => payload.nothing is null, not a bool
        payload.yes                           => true
        ",
    );
}

#[test]
fn functions_and_methods() {
    check(
        r#"
        size(payload.umlaut) == 3             => true
        payload.tags.size() == 2              => true
        size(payload.box) == 2 && size({}) == 0 && size([]) == 0 => true
        payload.n.size() == 1                 => payload.n is an int, not a string, a list or a map
        payload.prompt.startsWith("a ")       => true
        payload.prompt.endsWith("cat")        => true
        payload.prompt.contains("dog")        => false
        payload.prompt.contains(payload.empty) => true
        payload.prompt.contains(1)            => 1 is an int, not a string
        payload.tags.contains("red")          => payload.tags is a list, not a string
        "red" in payload.tags                 => true
        1.0 in [1, 2]                         => true
        [1, 2] in payload.grid                => true
        1 in 1                                => 1 in 1 applies `in` to an int and an int
        payload.prompt.matches("c.t$")        => true
        payload.prompt.matches("^cat")        => false
        payload.prompt.matches(r"\bcat\b")    => true
        payload.n.matches("3")                => payload.n is an int, not a string
        int(payload.digits) == 42             => true
        int(-1.9) == -1 && int(1.9) == 1      => true
        int(payload.huge) > 0                 => int(payload.huge) does not fit in 64 bits
        int(0.0 / 0.0) > 0                    => int(0.0 / 0.0) does not fit in 64 bits
        int(payload.prompt) > 0               => payload.prompt cannot be converted to an int
        int(payload.yes) > 0                  => payload.yes is a bool, not a number or a string
        double(payload.n) * payload.price == 4.5 => true
        double("1e3") == 1000.0               => true
        double("x") == 1.0                    => "x" cannot be converted to a double
        string(payload.n) + string(1.5) + string(true) + string("x") == "31.5truex" => true
        string(payload.tags) == ""            => payload.tags is a list, not a string, a number or a bool
        type(payload.tags) == list && type(payload) == map && type(null) == null_type => true
        type(payload.prompt) == string && type(true) == bool && type(type(1)) == type => true
        type(1) == "int"                      => false
        "#,
    );
}

#[test]
fn without_a_user_the_user_id_is_null() {
    let guard = Guard::parse("user_id == null").unwrap();
    let payload = json!({});
    assert_eq!(guard.admits(&GuardInput { payload: &payload, user_id: None, now_ms: 0 }), Ok(true));
    assert_eq!(guard.admits(&GuardInput { payload: &payload, user_id: Some("u-1"), now_ms: 0 }), Ok(false));
}

#[test]
fn an_error_quotes_the_guard_on_one_short_line_and_never_the_payload() {
    let secret = json!({ "key": "s3cret", "n": 5 });
    for guard in [
        "payload.key > 1",
        "int(payload.key) > 1",
        "payload.key.x == 1",
        "payload.n.matches('5')",
        "payload.key",
    ] {
        let error = result(guard, &secret);
        assert!(!error.contains("s3cret"), "{error}");
    }
    let long = format!("payload\n.absent == \"{}\"", "é".repeat(100));
    assert_eq!(result(&long, &secret), "payload .absent is missing");
    let long = format!("\"{}\" > 1", "é".repeat(100));
    let error = result(&long, &secret);
    assert!(error.starts_with("\"ééé") && error.contains("é… applies `>` to a string"), "{error}");
}
