//! Checks sizes of files and of functions.

use super::Flaw;
use super::names::in_name;
use super::source::Source;
use super::tree::Tree;

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 60;

/// Files, by lines of code: blank lines, comments and tests do not count.
pub(super) fn files(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust() {
        let count = source.code_lines().filter(|(_, line)| !line.trim().is_empty()).count();
        if count > FILE_LINES_MAX {
            let message = format!("{count} lines of code, at most {FILE_LINES_MAX}: split it by meaning");
            flaws.push(file.flaw(0, message));
        }
    }
    flaws
}

/// Functions, by lines of code between the braces, as clippy counts them, but also in code that is not compiled.
pub(super) fn functions(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust() {
        if !is_balanced(source) {
            // After a wrong guess the scanner would find no functions, which must not pass.
            flaws.push(file.flaw(0, "its braces do not match: correct it, or the scanner in tidy/source.rs"));
        }
        for (line, text) in source.code_lines() {
            let Some(name) = function_name(text) else { continue };
            let count = body_lines(source, line);
            if count > FUNCTION_LINES_MAX {
                let message =
                    format!("{name} has {count} lines, at most {FUNCTION_LINES_MAX}: give its parts names");
                flaws.push(file.flaw(line, message));
            }
        }
    }
    flaws
}

fn is_balanced(source: &Source) -> bool {
    let letters = || source.code.iter().flat_map(|line| line.chars());
    letters().filter(|letter| *letter == '{').count() == letters().filter(|letter| *letter == '}').count()
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let declares = before.split_whitespace().all(|word| {
        matches!(word, "pub" | "async" | "const" | "unsafe" | "extern" | "default")
            || word.starts_with("pub(")
    });
    let end = after.find(|letter| !in_name(letter))?;
    (declares && end > 0).then(|| &after[..end])
}

fn body_lines(source: &Source, first: usize) -> usize {
    let Some(last) = source.item_end(first) else { return 0 };
    let body = source.code[first - 1..last].iter().skip_while(|line| !line.contains('{')).skip(1);
    // The closing brace is not a line of the body.
    body.filter(|line| !line.trim().is_empty()).count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    fn function(lines: usize) -> String {
        let steps = "    step();\n".repeat(lines);
        format!("fn long(\n    it: &str,\n) -> [u8; 3] {{\n{steps}\n    // Why.\n}}\n")
    }

    #[test]
    fn a_file_of_more_than_400_code_lines_is_a_flaw() {
        let text = "//! Why.\n\nconst A: u8 = 1;\n".to_string() + &"const B: u8 = 1;\n".repeat(400);
        let flaw = found(&[("crates/a/src/big.rs", &text)], files);
        assert_eq!(flaw, "crates/a/src/big.rs: 401 lines of code, at most 400: split it by meaning");
    }

    #[test]
    fn comments_and_tests_do_not_count() {
        let comments = "// Why.\n\n".repeat(500);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "const B: u8 = 1;\n".repeat(500));
        let many = "const B: u8 = 1;\n".repeat(500);
        let tree = [("a/src/lib.rs", &*(comments + &tests)), ("a/tests/it/main.rs", &many)];
        assert_eq!(found(&tree, files), "");
    }

    #[test]
    fn a_function_of_more_than_60_lines_is_a_flaw() {
        let flaw = found(&[("crates/a/src/lib.rs", &function(61))], functions);
        assert_eq!(flaw, "crates/a/src/lib.rs:1: long has 61 lines, at most 60: give its parts names");
        assert_eq!(found(&[("crates/a/src/lib.rs", &function(60))], functions), "");
    }

    #[test]
    fn a_method_is_a_function_and_a_test_is_not() {
        let method = format!("impl A {{\n    pub(crate) async {}}}\n", function(70));
        assert!(found(&[("a/src/lib.rs", &method)], functions).contains("a/src/lib.rs:2: long has 70"));
        assert_eq!(found(&[("a/tests/it/main.rs", &function(70))], functions), "");
    }
}
