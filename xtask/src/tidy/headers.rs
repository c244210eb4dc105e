//! Checks first lines: every file begins with a comment that says what it is.

use super::Flaw;
use super::tree::Tree;

/// Rust files begin with a module comment, tests and examples included.
pub(super) fn rust(tree: &Tree) -> Vec<Flaw> {
    first_line(tree, ".rs", "", "//!", "begin with `//!` and what this module is, in one sentence")
}

/// SQL files begin with the purpose of the statement and the index it uses.
pub(super) fn sql(tree: &Tree) -> Vec<Flaw> {
    first_line(
        tree,
        ".sql",
        "crates/store/",
        "--",
        "begin with `--`, what the statement is for and which index it uses",
    )
}

fn first_line(tree: &Tree, end: &str, folder: &str, mark: &str, message: &str) -> Vec<Flaw> {
    let files = tree.ending(end).filter(|file| file.path.starts_with(folder));
    // The mark alone is not enough.
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
    fn a_module_without_a_comment_is_a_flaw() {
        let files = [
            ("a/src/lib.rs", "//! Why.\n"),
            ("a/src/b.rs", "use c;\n"),
            ("a/tests/it/main.rs", ""),
            ("a/examples/d.rs", "//!\n"),
        ];
        let expected = "\
a/examples/d.rs:1: begin with `//!` and what this module is, in one sentence
a/src/b.rs:1: begin with `//!` and what this module is, in one sentence
a/tests/it/main.rs:1: begin with `//!` and what this module is, in one sentence";
        assert_eq!(found(&files, rust), expected);
    }

    #[test]
    fn a_statement_without_a_header_is_a_flaw() {
        let files = [
            ("crates/store/src/sqlite/sql/now.sql", "-- now: the clock.\nselect 1\n"),
            ("crates/store/src/sqlite/sql/load.sql", "select 1\n"),
        ];
        assert!(found(&files, sql).starts_with("crates/store/src/sqlite/sql/load.sql:1: begin with `--`"));
    }
}
