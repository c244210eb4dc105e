//! Guards that are refused when loaded, with the place, the reason and the help.

use tenure_runtime::guard::{GUARD_BYTES_MAX, Guard};

/// Each line: a guard with the flaw between `«` and `»`, the message, and the help after a bar if there is one.
fn check(table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (marked, expected) = line.split_once(" => ").expect("a case has an arrow");
        let marked = marked.trim_end();
        let start = marked.find('«').expect("a case marks where the flaw begins");
        let end = marked.find('»').expect("a case marks where the flaw ends") - '«'.len_utf8();
        let guard = marked.replace(['«', '»'], "");
        let flaw = Guard::parse(&guard).expect_err(&guard);
        let help = flaw.help.map(|help| format!(" | {help}")).unwrap_or_default();
        assert_eq!(format!("{}{help}", flaw.message), expected, "{guard}");
        assert_eq!((flaw.start, flaw.end), (start, end), "{guard}");
    }
}

#[test]
fn unknown_names_are_refused_with_a_suggestion() {
    check(include_str!("cases/unknown_names.txt"));
}

#[test]
fn macros_are_refused_because_guards_do_not_loop() {
    check(include_str!("cases/macros.txt"));
    let nested = (0..6).fold("true".to_owned(), |inner, n| format!("[1,2,3,4,5,6,7,8,9].all(x{n}, {inner})"));
    assert!(Guard::parse(&nested).is_err());
}

#[test]
fn calls_with_the_wrong_arguments_are_refused() {
    check(include_str!("cases/wrong_arguments.txt"));
}

#[test]
fn patterns_are_compiled_when_loaded() {
    check(include_str!("cases/patterns.txt"));
    let long = format!("payload.x.matches('{}')", "a".repeat(257));
    assert_eq!(Guard::parse(&long).unwrap_err().message, "the pattern has 257 bytes, more than 256");
    assert!(Guard::parse(&format!("payload.x.matches('{}')", "a".repeat(256))).is_ok());
}

#[test]
fn an_expression_that_is_never_a_bool_is_refused() {
    check(include_str!("cases/never_a_bool.txt"));
}

#[test]
fn broken_syntax_is_refused_where_it_breaks() {
    check(include_str!("cases/broken_syntax.txt"));
}

#[test]
fn a_guard_has_at_most_4096_bytes() {
    let longest = format!("true{}", " ".repeat(GUARD_BYTES_MAX - 4));
    assert!(Guard::parse(&longest).is_ok());
    let flaw = Guard::parse(&format!("{longest} ")).unwrap_err();
    assert_eq!(flaw.message, "the guard has 4097 bytes, more than 4096");
}
