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
    check(
        "
        «payloda».x == 1           => `payloda` is not a variable | did you mean `payload`?
        size(«userid») == 1        => `userid` is not a variable | did you mean `user_id`?
        true && «retries» > 1      => `retries` is not a variable | the variables are: payload, user_id, now
        «size» == 1                => `size` is a function | write size(x)
        «sise»(payload) == 1       => `sise` is not a function | did you mean `size`?
        «frobnicate»(1)            => `frobnicate` is not a function | the functions are: size, has, int, double, string, type
        payload.x.«startswith»('') => `startswith` is not a function | did you mean `startsWith`?
        payload.x.«lower»() == ''  => `lower` is not a function | the methods are: size, startsWith, endsWith, contains, matches
        «startsWith»(payload, 'a') => `startsWith` is a method | write x.startsWith(y)
        payload.«int»() == 1       => `int` is a function, not a method | write int(x)
        payload.«in» == 1          => `in` cannot follow a dot | write [\"in\"]
        ",
    );
}

#[test]
fn macros_are_refused_because_guards_do_not_loop() {
    check(
        "
        payload.«all»(x, x > 1)    => `all` is not available: guards have no loops | the methods are: size, startsWith, endsWith, contains, matches
        payload.«exists»(x, true)  => `exists` is not available: guards have no loops | the methods are: size, startsWith, endsWith, contains, matches
        «filter»(payload)          => `filter` is not available: guards have no loops | the functions are: size, has, int, double, string, type
        ",
    );
    let nested = (0..6).fold("true".to_owned(), |inner, n| format!("[1,2,3,4,5,6,7,8,9].all(x{n}, {inner})"));
    assert!(Guard::parse(&nested).is_err());
}

#[test]
fn calls_with_the_wrong_arguments_are_refused() {
    check(
        "
        «size()» == 1              => expected 1 argument(s), found 0 | write size(x)
        «size(1, 2)» == 1          => expected 1 argument(s), found 2 | write size(x)
        payload.«size(1)» == 1     => expected 0 argument(s), found 1 | write x.size()
        payload.«contains()»       => expected 1 argument(s), found 0 | write x.contains(y)
        has(«payload»)             => `has` needs a field | write has(a.b), or \"b\" in a
        has(«payload['a']»)        => `has` needs a field | write has(a.b), or \"b\" in a
        has(«payload.a.size()»)    => `has` needs a field | write has(a.b), or \"b\" in a
        ",
    );
}

#[test]
fn patterns_are_compiled_when_loaded() {
    check(
        r#"
        payload.x.matches(«payload.y»)  => a pattern must be a literal | write it as a string literal, so that it can be compiled when the guard is loaded
        payload.x.matches(«"(a"»)       => invalid pattern: unclosed group
        payload.x.matches(«"(?=a)b"»)   => invalid pattern: look-around, including look-ahead and look-behind, is not supported
        payload.x.matches(«"(a{1000}){1000}"») => invalid pattern: it is too large when compiled | repeat fewer times, or write [0-9] and (?-u:\w) for \d and \w
        "#,
    );
    let long = format!("payload.x.matches('{}')", "a".repeat(257));
    assert_eq!(Guard::parse(&long).unwrap_err().message, "the pattern has 257 bytes, more than 256");
    assert!(Guard::parse(&format!("payload.x.matches('{}')", "a".repeat(256))).is_ok());
}

#[test]
fn an_expression_that_is_never_a_bool_is_refused() {
    check(
        "
        «1»                        => a guard must be a bool | compare it with something
        «size(payload)»            => a guard must be a bool | compare it with something
        «payload.x.size()»         => a guard must be a bool | compare it with something
        «payload.a + payload.b»    => a guard must be a bool | compare it with something
        «(now)»                    => a guard must be a bool | compare it with something
        «payload.a ? 1 : 'no'»     => a guard must be a bool | compare it with something
        ",
    );
}

#[test]
fn broken_syntax_is_refused_where_it_breaks() {
    check(
        r#"
        «»                         => expected a value, found the end
        true &&«»                  => expected a value, found the end
        (true«»                    => expected `)`, found the end
        true «)»                   => expected an operator or the end, found `)`
        true «true»                => expected an operator or the end, found `true`
        payload «"a"»              => expected an operator or the end, found a string
        payload«.5»                => expected an operator or the end, found a number
        payload.«"a"»              => expected a field or a method, found a string
        payload.a «=» 1            => `=` is not allowed in a guard | write `==` to compare
        true «&» true              => `&` is not allowed in a guard | write `&&` for and
        true «|» true              => `|` is not allowed in a guard | write `||` for or
        payload.a == «“»a”         => `“` is not allowed in a guard | write strings in "…" or '…'
        true «@»                   => `@` is not allowed in a guard
        payload.a == «'a»          => this string is not closed | close it with ' on the same line
        payload.a == «r"a»         => this string is not closed | close it with " on the same line
        payload.a == '«\d»'        => `\\d` is not an escape | write `\\` for a backslash, or a raw string: r"…"
        payload.a == '«\x»4'       => `\\x` is not an escape | write `\\` for a backslash, or a raw string: r"…"
        payload.a == '«\u»d800'    => `\\u` is not an escape | write `\\` for a backslash, or a raw string: r"…"
        payload.a == «1u»          => `1u` is not a number | numbers are written 42, 0x2a, 4.2 or 4.2e1; there are no unsigned ints
        payload.a == «9223372036854775808» => this number does not fit in 64 bits
        payload.a == «-9223372036854775809» => this number does not fit in 64 bits
        payload.a == «99999999999999999999» => `99999999999999999999` does not fit in 64 bits
        payload.a == «1e999»       => `1e999` does not fit in 64 bits
        true ? true«»              => expected `:`, found the end
        {"a" «,» 1} == {}          => expected `:`, found `,`
        "#,
    );
}

#[test]
fn a_guard_has_at_most_4096_bytes() {
    let longest = format!("true{}", " ".repeat(GUARD_BYTES_MAX - 4));
    assert!(Guard::parse(&longest).is_ok());
    let flaw = Guard::parse(&format!("{longest} ")).unwrap_err();
    assert_eq!(flaw.message, "the guard has 4097 bytes, more than 4096");
}
