//! Checks for unfinished code, and for tests that sleep instead of waiting for a condition.

use super::Flaw;
use super::names::has_word;
use super::tree::Tree;

/// Calls, each with what to do instead.
const UNFINISHED: &[(&str, &str)] = &[
    ("todo!", "write it"),
    ("unimplemented!", "write it"),
    ("dbg!", "remove it, or use tracing"),
    ("unwrap()", "use `expect` with the fact that makes it safe, or pass the error on"),
];
/// Words of comments.
const NOTES: &[&str] = &["FIXME", "TODO", "XXX"];
const EXCUSE: &str = "// tidy: a fault that takes time";

/// No unfinished code outside tests.
pub(super) fn unfinished(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust() {
        for (line, text) in source.code_lines() {
            for (call, instead) in UNFINISHED.iter().filter(|(call, _)| has_word(text, call)) {
                flaws.push(Flaw::new(&file.path, line, format!("{call}: {instead}")));
            }
            let comment = &source.comments[line - 1];
            flaws.extend(
                NOTES.iter().filter(|note| has_word(comment, note)).map(|note| noted(&file.path, line, note)),
            );
        }
    }
    for file in tree.ending(".sql") {
        for (index, text) in file.text.lines().enumerate() {
            let found = NOTES.iter().filter(|note| has_word(text, note));
            flaws.extend(found.map(|note| noted(&file.path, index + 1, note)));
        }
    }
    flaws
}

fn noted(path: &str, line: usize, note: &str) -> Flaw {
    Flaw::new(path, line, format!("{note}: do it now, or describe it in an issue"))
}

/// No test sleeps, except in lines with the excuse.
pub(super) fn sleeps(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust() {
        for (line, text) in source.test_lines() {
            if calls_sleep(text) && !source.comments[line - 1].contains(EXCUSE) {
                let message = format!("a test that sleeps: wait for the condition (or add `{EXCUSE}`)");
                flaws.push(Flaw::new(&file.path, line, message));
            }
        }
    }
    flaws
}

/// `thread::sleep(…)`, `tokio::time::sleep(…)`, or either one imported; not other functions and methods of this name.
fn calls_sleep(code: &str) -> bool {
    code.match_indices("sleep(").any(|(at, _)| {
        let before = &code[..at];
        let longer = before.ends_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.'));
        let path = before.ends_with("::") && !before.ends_with("thread::") && !before.ends_with("time::");
        !longer && !path && !before.ends_with("fn ")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn unfinished_code_is_a_flaw() {
        for (call, instead) in UNFINISHED {
            let text = format!(
                "//! No {call} here.\nfn a() {{ b.{call} }}\n#[cfg(test)]\nmod tests {{ c!({call}) }}\n"
            );
            let flaw = found(&[("a/src/lib.rs", &text)], unfinished);
            assert_eq!(flaw, format!("a/src/lib.rs:2: {call}: {instead}"));
            assert_eq!(found(&[("a/tests/it/main.rs", &text)], unfinished), "");
        }
    }

    #[test]
    fn a_note_is_a_flaw() {
        for note in NOTES {
            let text = format!("//! Why.\nlet a = \"{note}\"; // {note}: later\n");
            assert!(
                found(&[("a/src/lib.rs", &text)], unfinished).starts_with(&format!("a/src/lib.rs:2: {note}"))
            );
            let text = format!("-- Why.\n-- {note}\n");
            assert!(found(&[("a/b.sql", &text)], unfinished).starts_with(&format!("a/b.sql:2: {note}")));
        }
    }

    #[test]
    fn a_test_that_sleeps_is_a_flaw() {
        for call in ["std::thread::sleep(a)", "tokio::time::sleep(a).await", "sleep(a)", "time::sleep(a)"] {
            let text = format!("//! Why.\nfn b() {{ {call} }}\n#[cfg(test)]\nmod tests {{ {call} }}\n");
            let flaw = found(&[("a/src/lib.rs", &text)], sleeps);
            assert!(flaw.starts_with("a/src/lib.rs:4: a test that sleeps"), "{call}: {flaw}");
            let text = format!("//! Why.\nfn b() {{\n    {call}; {EXCUSE}\n}}\n");
            assert_eq!(found(&[("a/tests/it/main.rs", &text)], sleeps), "");
        }
    }

    #[test]
    fn another_function_named_sleep_is_not_a_flaw() {
        let text = "//! Why.\nfn sleep(a: u8) { clock.sleep(a); oversleep(a); Clock::sleep(a) }\n";
        assert_eq!(found(&[("a/tests/it/main.rs", text)], sleeps), "");
    }
}
