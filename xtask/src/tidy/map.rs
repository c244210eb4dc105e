//! Checks ARCHITECTURE.md, the code map: every path in it exists, and every crate is in it.

use super::Flaw;
use super::docs::quoted;
use super::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const FOLDERS: &[&str] =
    &["conformance/", "crates/", "docs/", "examples/", "lifecycles/", "tests/", "xtask/"];

/// Every crate is in the map, and every crate and path in the map exists.
pub(super) fn architecture(tree: &Tree) -> Vec<Flaw> {
    let Some(map) = tree.file(MAP) else {
        return vec![Flaw::new(MAP, 0, "is missing: describe the flow of a command, and each crate")];
    };
    let mut flaws = Vec::new();
    for name in tree.crates() {
        if !map.lines().flat_map(|(_, text)| crates_in(text)).any(|other| other == name) {
            flaws.push(map.flaw(0, format!("does not mention crates/{name}: add a paragraph")));
        }
    }
    for (line, text) in map.lines() {
        let missing = crates_in(text).filter(|name| !tree.has(&format!("crates/{name}")));
        flaws.extend(missing.map(|name| map.flaw(line, format!("crates/{name} does not exist: remove it"))));
        let paths = quoted(text).filter(|path| FOLDERS.iter().any(|folder| path.starts_with(folder)));
        let missing = paths.filter(|path| !tree.has(fixed_part(path)));
        flaws.extend(missing.map(|path| map.flaw(line, format!("{path} does not exist: correct the path"))));
    }
    flaws.sort();
    flaws.dedup();
    flaws
}

fn crates_in(line: &str) -> impl Iterator<Item = &str> {
    let names = line.split("crates/").skip(1).map(|rest| {
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '-'));
        &rest[..end.unwrap_or(rest.len())]
    });
    names.filter(|name| !name.is_empty())
}

/// The part of a path that can be looked up: the folder before a `*`, a `<placeholder>` or a `{choice}`.
fn fixed_part(path: &str) -> &str {
    let path = path.split([' ', ':', '#']).next().unwrap_or(path);
    match path.find(['*', '<', '{', '…']) {
        Some(at) => path[..at].rfind('/').map_or("", |slash| &path[..slash]),
        None => path,
    }
}
