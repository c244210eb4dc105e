//! Checks `docs/llms.txt`, the index of the documentation for language models: every page is in it, and every link exists.

use std::collections::BTreeSet;

use super::Flaw;
use super::docs::resolved;
use super::tree::{File, Tree};

const INDEX: &str = "docs/llms.txt";
const FOLDER: &str = "docs";

/// The index has a title, a summary and a line for each page of `docs`.
pub(super) fn index(tree: &Tree) -> Vec<Flaw> {
    let Some(index) = tree.file(INDEX) else {
        return vec![Flaw::new(INDEX, 0, "is missing: list every page of docs/ with one line")];
    };
    let mut flaws = head(index);
    let mut listed = BTreeSet::new();
    for (line, text) in index.lines().filter(|(_, text)| text.starts_with("- ")) {
        let Some((target, about)) = entry(text) else {
            flaws.push(index.flaw(line, "is not an entry: write `- [title](page.md): what it is for`"));
            continue;
        };
        let Some(path) = resolved(FOLDER, target).filter(|path| tree.file(path).is_some()) else {
            flaws.push(index.flaw(line, format!("{target} does not exist: correct the link")));
            continue;
        };
        if !listed.insert(path) {
            flaws.push(index.flaw(line, format!("{target} is listed before: remove one line")));
        } else if about.is_empty() {
            flaws.push(index.flaw(line, format!("{target} has no description: say what it is for")));
        }
    }
    let pages = tree.ending(".md").filter(|file| file.path.starts_with("docs/"));
    let missing = pages.filter(|page| !listed.contains(&page.path));
    flaws.extend(missing.map(|page| page.flaw(0, format!("is not in {INDEX}: add a line for it"))));
    flaws
}

/// The convention: a title, an empty line, a summary.
fn head(index: &File) -> Vec<Flaw> {
    let mut lines = index.text.lines();
    let is_title = lines.next().is_some_and(|line| line.starts_with("# "));
    let is_summary = lines.find(|line| !line.is_empty()).is_some_and(|line| line.starts_with("> "));
    let flaw = || index.flaw(1, "begins with `# title` and a summary, `> text`");
    Vec::from_iter((!is_title || !is_summary).then(flaw))
}

/// The target and the description of `- [title](target): description`.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (title, rest) = line.strip_prefix("- [")?.split_once("](")?;
    let (target, about) = rest.split_once(')')?;
    let about = about.strip_prefix(':')?.trim();
    (!title.is_empty() && !target.is_empty()).then_some((target, about))
}
