//! Checks ARCHITECTURE.md, the code map: every path in it exists, and every crate is in it.

use super::Flaw;
use super::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const FOLDERS: &[&str] = &["crates/", "docs/", "examples/", "lifecycles/", "tests/", "xtask/"];

/// Every crate is in the map, and every crate and path in the map exists.
pub(super) fn architecture(tree: &Tree) -> Vec<Flaw> {
    let Some(map) = tree.file(MAP) else {
        return vec![Flaw::new(MAP, 0, "is missing: describe the flow of a command, and each crate")];
    };
    let mut flaws = Vec::new();
    let named: Vec<(usize, &str)> = map
        .text
        .lines()
        .enumerate()
        .flat_map(|(index, line)| crates_in(line).map(move |name| (index + 1, name)))
        .collect();
    for name in tree.crates() {
        if !named.iter().any(|(_, other)| *other == name) {
            flaws.push(Flaw::new(MAP, 0, format!("does not mention crates/{name}: add a paragraph")));
        }
    }
    for (line, name) in named {
        if !tree.has(&format!("crates/{name}")) {
            flaws.push(Flaw::new(MAP, line, format!("crates/{name} does not exist: remove it")));
        }
    }
    for (index, line) in map.text.lines().enumerate() {
        // Every second part is between backticks.
        for path in
            line.split('`').skip(1).step_by(2).filter(|path| FOLDERS.iter().any(|it| path.starts_with(it)))
        {
            if !tree.has(fixed_part(path)) {
                flaws.push(Flaw::new(MAP, index + 1, format!("{path} does not exist: correct the path")));
            }
        }
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

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    const CORE: (&str, &str) = ("crates/core/src/lib.rs", "//! Why.\n");

    #[test]
    fn a_missing_map_is_a_flaw() {
        assert!(found(&[CORE], architecture).starts_with("ARCHITECTURE.md: is missing"));
    }

    #[test]
    fn a_crate_that_is_not_in_the_map_is_a_flaw() {
        let flaw = found(&[CORE, (MAP, "# Map\nHere is nothing of crates/core-like.\n")], architecture);
        assert!(flaw.contains("ARCHITECTURE.md: does not mention crates/core: add a paragraph"), "{flaw}");
    }

    #[test]
    fn a_crate_or_a_path_that_does_not_exist_is_a_flaw() {
        let map = "`crates/core` and crates/server\n`crates/core/src/decide.rs`, `crates/core/sql/*.sql`\n";
        let expected = "\
ARCHITECTURE.md:1: crates/server does not exist: remove it
ARCHITECTURE.md:2: crates/core/sql/*.sql does not exist: correct the path
ARCHITECTURE.md:2: crates/core/src/decide.rs does not exist: correct the path";
        assert_eq!(found(&[CORE, (MAP, map)], architecture), expected);
    }

    #[test]
    fn a_correct_map_has_no_flaw() {
        let map = "All of `crates/*`: `crates/core/`, `crates/core/src/{lib,main}.rs`, `crates/core/src/lib.rs:1`.\n";
        assert_eq!(found(&[CORE, (MAP, map)], architecture), "");
    }
}
