//! Checks `docs/promises.md`: every row names a test that exists, or says why there is none.

use super::Flaw;
use super::tree::Tree;

const TABLE: &str = "docs/promises.md";

/// Every test in the table exists, and a row without a test gives a reason.
pub(super) fn tests_exist(tree: &Tree) -> Vec<Flaw> {
    let Some(table) = tree.file(TABLE) else { return Vec::new() };
    let mut flaws = Vec::new();
    for (index, line) in table.text.lines().enumerate() {
        let named: Vec<&str> = line.split('`').skip(1).step_by(2).filter(|it| place(it).is_some()).collect();
        for test in &named {
            if !exists(tree, test) {
                let message = format!("the test {test} does not exist: name the one that proves the promise");
                flaws.push(Flaw::new(TABLE, index + 1, message));
            }
        }
        if named.is_empty() && is_unproved(line) {
            let message = "names no test as `crate/binary::module::name`: add one, or a dash and the reason";
            flaws.push(Flaw::new(TABLE, index + 1, message));
        }
    }
    flaws
}

/// A row of a table, not its head or the line below it, whose last cell has no dash and reason.
fn is_unproved(line: &str) -> bool {
    let Some(cells) = line.strip_prefix('|').and_then(|rest| rest.trim_end().strip_suffix('|')) else {
        return false;
    };
    let last = cells.rsplit('|').next().unwrap_or_default().trim();
    !(last == "test" || last.starts_with('—') || last.starts_with("---"))
}

/// The file and the function of a name like `e2e/http::jobs::a_job_is_created`.
fn place(name: &str) -> Option<(String, &str)> {
    let (path, function) = name.rsplit_once("::")?;
    let (package, path) = path.split_once('/')?;
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|it| it.is_alphanumeric() || it == '_');
    if !is_word(package) || !is_word(function) || !path.split("::").all(is_word) {
        return None;
    }
    let (binary, modules) = path.split_once("::").unwrap_or((path, "main"));
    let folder = if package == "e2e" { "tests" } else { "crates" };
    Some((format!("{folder}/{package}/tests/{binary}/{}.rs", modules.replace("::", "/")), function))
}

fn exists(tree: &Tree, name: &str) -> bool {
    let Some((path, function)) = place(name) else { return false };
    let Some(source) = tree.file(&path).and_then(|file| file.source.as_ref()) else { return false };
    let begins = |line: &String| {
        let rest = line.split_once(&format!("fn {function}")).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    source.code.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    const TESTS: (&str, &str) =
        ("tests/e2e/tests/http/seeds/so1.rs", "#[tokio::test]\nasync fn it_ends() {}\n// fn it_sings()\n");

    fn table(cell: &str) -> String {
        let text = format!("| sentence | how | test |\n|---|---|---|\n| \"It ends.\" | it does | {cell} |\n");
        found(&[TESTS, (TABLE, &text)], tests_exist)
    }

    #[test]
    fn a_row_with_a_missing_test_is_a_flaw() {
        assert_eq!(table("`e2e/http::seeds::so1::it_ends`"), "");
        for gone in
            ["e2e/http::seeds::so1::it_begins", "e2e/http::seeds::so1::it_end", "e2e/http::so1::it_ends"]
        {
            let flaw = table(&format!("`e2e/http::seeds::so1::it_ends`, `{gone}`"));
            assert_eq!(
                flaw,
                format!(
                    "docs/promises.md:3: the test {gone} does not exist: name the one that proves the promise"
                )
            );
        }
        assert!(!table("`e2e/http::seeds::so1::it_sings`").is_empty(), "a comment is not a test");
    }

    #[test]
    fn a_row_without_a_test_needs_a_reason() {
        assert!(table("").starts_with("docs/promises.md:3: names no test"));
        assert!(table("soon").starts_with("docs/promises.md:3: names no test"));
        assert_eq!(table("— the storage format is not visible"), "");
    }
}
