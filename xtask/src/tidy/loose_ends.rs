//! Loose ends: what was meant to be finished later, and tests that wait for a while instead of for a thing.

use super::Flaw;
use super::names::has_word;
use super::tree::Tree;

/// In code: each with what to do instead.
const UNFINISHED: &[(&str, &str)] = &[
    ("todo!", "write it"),
    ("unimplemented!", "write it"),
    ("dbg!", "take it out, or trace it"),
    ("unwrap()", "use `expect` with the fact that makes it safe, or pass the error on"),
];
/// In comments.
const NOTES: &[&str] = &["FIXME", "TODO", "XXX"];
const EXCUSE: &str = "// tidy: a fault that takes time";

/// Nothing unfinished outside tests.
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
    Flaw::new(path, line, format!("{note}: do it now, or write it down where it will be found"))
}

/// No test sleeps, except where a fault takes time and the line says so.
pub(super) fn sleeps(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust() {
        for (line, text) in source.test_lines() {
            if calls_sleep(text) && !source.comments[line - 1].contains(EXCUSE) {
                let message = format!("a test that sleeps: wait for the thing itself (or say `{EXCUSE}`)");
                flaws.push(Flaw::new(&file.path, line, message));
            }
        }
    }
    flaws
}

/// `thread::sleep(…)`, `tokio::time::sleep(…)`, or either one imported; a method or a function of that name is ours.
fn calls_sleep(code: &str) -> bool {
    code.match_indices("sleep(").any(|(at, _)| {
        let before = &code[..at];
        let ours = before.ends_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.'));
        let path = before.ends_with("::") && !before.ends_with("thread::") && !before.ends_with("time::");
        !ours && !path && !before.ends_with("fn ")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn what_is_unfinished_is_a_flaw() {
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
    fn a_note_to_oneself_is_a_flaw() {
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
    fn a_sleep_of_our_own_is_not_a_flaw() {
        let text = "//! Why.\nfn sleep(a: u8) { clock.sleep(a); oversleep(a); Clock::sleep(a) }\n";
        assert_eq!(found(&[("a/tests/it/main.rs", text)], sleeps), "");
    }
}
