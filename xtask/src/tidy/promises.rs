//! Checks `docs/promises.md` and `docs/hardening.md`: every row names a test that exists, or says why there is none.

use super::Flaw;
use super::docs::quoted;
use super::names::in_name;
use super::tree::{File, Tree};

const PAGES: [&str; 2] = ["docs/promises.md", "docs/hardening.md"];

/// Every test in the tables exists, and a row without a test gives a reason.
pub(super) fn tests_exist(tree: &Tree) -> Vec<Flaw> {
    PAGES.iter().filter_map(|page| tree.file(page)).flat_map(|page| flaws_of(tree, page)).collect()
}

fn flaws_of(tree: &Tree, page: &File) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (line, text) in page.lines() {
        let named: Vec<&str> = quoted(text).filter(|it| place(it).is_some()).collect();
        for test in named.iter().filter(|test| !exists(tree, test)) {
            let message = format!("the test {test} does not exist: name the one that proves the promise");
            flaws.push(page.flaw(line, message));
        }
        if named.is_empty() && is_unproved(text) {
            let message = "names no test as `crate/binary::module::name`: add one, or a dash and the reason";
            flaws.push(page.flaw(line, message));
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

/// The file and the function of a name like `e2e/http::jobs::a_job_is_created`, or of a unit test like
/// `core/src::json::nonsense_is_refused`.
fn place(name: &str) -> Option<(String, &str)> {
    let (path, function) = name.rsplit_once("::")?;
    let (package, path) = path.split_once('/')?;
    let is_word = |word: &str| !word.is_empty() && word.chars().all(in_name);
    if !is_word(package) || !is_word(function) || !path.split("::").all(is_word) {
        return None;
    }
    let (binary, modules) = path.split_once("::").unwrap_or((path, "main"));
    let folder = match package {
        "e2e" => "tests/",
        "xtask" => "",
        _ => "crates/",
    };
    let binary = if binary == "src" { "src" } else { &format!("tests/{binary}") };
    Some((format!("{folder}{package}/{binary}/{}.rs", modules.replace("::", "/")), function))
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
