//! Checks that the tree works on every machine: no absolute paths, and no registry but crates.io.

use super::Flaw;
use super::tree::Tree;

/// First folders that differ between machines. Written in halves, because this file is checked, too.
const MACHINE_FOLDERS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
const REGISTRY_MARKS: &[&str] = &[concat!("regis", "try+"), concat!("spar", "se+")];
const CRATES_IO: &[&str] = &["https://github.com/rust-lang/crates.io-index", "https://index.crates.io/"];

/// No absolute path of a developer's machine in any file.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Flaw> {
    let message = "a path of one machine: write it from the workspace's root, or take it as a parameter";
    // After a name it is a part of a longer path or of a URL; without a name after it, a mention.
    let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '}' | '>');
    flaws(tree, MACHINE_FOLDERS, message, |before, after| {
        !before.ends_with(inside) && after.starts_with(char::is_alphanumeric)
    })
}

/// No registry but crates.io, in the lock file or anywhere else, and nothing that replaces it.
pub(super) fn registries(tree: &Tree) -> Vec<Flaw> {
    let message = "another registry than crates.io: use crates.io, so that the tree builds everywhere";
    let mut found = flaws(tree, REGISTRY_MARKS, message, |_, address| {
        address.starts_with("http") && !CRATES_IO.iter().any(|allowed| address.starts_with(allowed))
    });
    for file in tree.files.iter().filter(|file| file.path.starts_with(".cargo/")) {
        let replacing = file.lines().filter(|(_, text)| text.trim().starts_with("replace-with"));
        let message = "replaces crates.io for all users: put it into ~/.cargo/config.toml";
        found.extend(replacing.map(|(line, _)| file.flaw(line, message)));
    }
    found
}

/// Lines in which one of the marks stands between texts that are wrong.
fn flaws(tree: &Tree, marks: &[&str], message: &str, wrong: impl Fn(&str, &str) -> bool) -> Vec<Flaw> {
    let has_mark = |text: &str, mark: &str| {
        text.match_indices(mark).any(|(at, _)| wrong(&text[..at], &text[at + mark.len()..]))
    };
    let lines = tree.files.iter().flat_map(|file| file.lines().map(move |(line, text)| (file, line, text)));
    let bad = lines.filter(|(.., text)| marks.iter().any(|mark| has_mark(text, mark)));
    bad.map(|(file, line, _)| file.flaw(line, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_a_flaw() {
        for folder in MACHINE_FOLDERS {
            let flaw =
                found(&[("docs/a.md", &format!("fine\nsee `{folder}someone/tenure`\n"))], machine_paths);
            assert!(flaw.starts_with("docs/a.md:2: a path of one machine"), "{folder}: {flaw}");
            let fine = format!("https://example.org{folder}x and {folder} and docs{folder}x\n");
            assert_eq!(found(&[("docs/a.md", &fine)], machine_paths), "");
        }
    }

    #[test]
    fn another_registry_is_a_flaw() {
        for mark in REGISTRY_MARKS {
            let lock = format!("source = \"{mark}https://crates.example.org/index\"\n");
            assert!(
                found(&[("Cargo.lock", &lock)], registries).starts_with("Cargo.lock:1: another registry")
            );
            let lock = format!("source = \"{mark}{}\"\n", CRATES_IO[0]);
            assert_eq!(found(&[("Cargo.lock", &lock)], registries), "");
        }
    }
}
