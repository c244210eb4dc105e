//! Openings: every file says first why it exists.

use super::Flaw;
use super::tree::Tree;

/// Rust files open with a module comment, tests and examples included.
pub(super) fn rust(tree: &Tree) -> Vec<Flaw> {
    opening(tree, ".rs", "", "//!", "open with `//!` and why this module exists")
}

/// SQL files open with who needs the statement and which index serves it.
pub(super) fn sql(tree: &Tree) -> Vec<Flaw> {
    opening(tree, ".sql", "crates/store/", "--", "open with `--`, who needs this and which index serves it")
}

fn opening(tree: &Tree, end: &str, folder: &str, mark: &str, message: &str) -> Vec<Flaw> {
    let files = tree.ending(end).filter(|file| file.path.starts_with(folder));
    // The mark alone, without a word behind it, says nothing.
    let silent = files.filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        first.strip_prefix(mark).is_none_or(|words| words.trim().is_empty())
    });
    silent.map(|file| Flaw::new(&file.path, 1, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn a_module_that_does_not_say_why_is_a_flaw() {
        let files = [
            ("a/src/lib.rs", "//! Why.\n"),
            ("a/src/b.rs", "use c;\n"),
            ("a/tests/it/main.rs", ""),
            ("a/examples/d.rs", "//!\n"),
        ];
        let expected = "\
a/examples/d.rs:1: open with `//!` and why this module exists
a/src/b.rs:1: open with `//!` and why this module exists
a/tests/it/main.rs:1: open with `//!` and why this module exists";
        assert_eq!(found(&files, rust), expected);
    }

    #[test]
    fn a_statement_without_a_header_is_a_flaw() {
        let files = [
            ("crates/store/src/sqlite/sql/now.sql", "-- now: the clock.\nselect 1\n"),
            ("crates/store/src/sqlite/sql/load.sql", "select 1\n"),
        ];
        assert!(found(&files, sql).starts_with("crates/store/src/sqlite/sql/load.sql:1: open with `--`"));
    }
}
