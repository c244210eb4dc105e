//! Checks for unfinished code, and for tests that sleep instead of waiting for a condition.

use super::Flaw;
use super::names::has_word;
use super::tree::{File, Tree};

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
    for (file, line, text) in tree.code_lines() {
        let calls = UNFINISHED.iter().filter(|(call, _)| has_word(text, call));
        flaws.extend(calls.map(|(call, instead)| file.flaw(line, format!("{call}: {instead}"))));
        flaws.extend(notes(file, line, file.comment(line)));
    }
    for file in tree.ending(".sql") {
        flaws.extend(file.lines().flat_map(|(line, text)| notes(file, line, text)));
    }
    flaws
}

fn notes<'a>(file: &'a File, line: usize, text: &'a str) -> impl Iterator<Item = Flaw> + 'a {
    let found = NOTES.iter().filter(move |note| has_word(text, note));
    found.map(move |note| file.flaw(line, format!("{note}: do it now, or describe it in an issue")))
}

/// No test sleeps, except in lines with the excuse.
pub(super) fn sleeps(tree: &Tree) -> Vec<Flaw> {
    let message = format!("a test that sleeps: wait for the condition (or add `{EXCUSE}`)");
    let sleeping = tree.test_lines().filter(|(.., text)| calls_sleep(text));
    let without_excuse = sleeping.filter(|(file, line, _)| !file.comment(*line).contains(EXCUSE));
    without_excuse.map(|(file, line, _)| file.flaw(line, &*message)).collect()
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
