//! Checks first lines: every file begins with a comment that says what it is.

use super::Flaw;
use super::tree::Tree;

/// Rust files begin with a module comment, tests and examples included.
pub(super) fn rust(tree: &Tree) -> Vec<Flaw> {
    first_line(tree, ".rs", "", "//!", "begin with `//!` and what this module is, in one sentence")
}

/// SQL files begin with the purpose of the statement and the index it uses.
pub(super) fn sql(tree: &Tree) -> Vec<Flaw> {
    let message = "begin with `--`, what the statement is for and which index it uses";
    first_line(tree, ".sql", "crates/store/", "--", message)
}

fn first_line(tree: &Tree, end: &str, folder: &str, mark: &str, message: &str) -> Vec<Flaw> {
    let files = tree.ending(end).filter(|file| file.path.starts_with(folder));
    // The mark alone is not enough.
    let silent = files.filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        first.strip_prefix(mark).is_none_or(|words| words.trim().is_empty())
    });
    silent.map(|file| file.flaw(1, message)).collect()
}
