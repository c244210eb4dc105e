//! Checks that the core is pure: no waiting, no clock, no randomness, no input or output.

use super::Flaw;
use super::names::has_word;
use super::tree::Tree;

const MANIFEST: &str = "crates/core/Cargo.toml";
const SOURCES: &str = "crates/core/src/";
const DEPENDENCIES: &[&str] = &["serde", "serde_json", "sha2", "thiserror", "toml", "uuid"];
const FOREIGN: &[&str] =
    &["async", "tokio", "std::fs", "std::net", "SystemTime::now", "Instant::now", "rand"];

/// The core depends on a fixed list of pure crates only.
pub(super) fn dependencies(tree: &Tree) -> Vec<Flaw> {
    let Some(file) = tree.file(MANIFEST) else {
        // A tree without crates has no core.
        return if tree.crates().is_empty() { vec![] } else { vec![Flaw::new(MANIFEST, 0, "is missing")] };
    };
    let Ok(manifest) = file.text.parse::<toml::Table>() else {
        return vec![file.flaw(0, "is not TOML, so its dependencies cannot be checked")];
    };
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    let names = table.into_iter().flat_map(toml::Table::keys);
    let foreign = names.filter(|name| !DEPENDENCIES.contains(&name.as_str()));
    let foreign =
        foreign.map(|name| format!("{name} is not allowed in the core: use it in runtime or store"));
    let hidden = ["target", "build-dependencies"].into_iter().filter(|key| manifest.contains_key(*key));
    let hidden =
        hidden.map(|key| format!("[{key}] is not allowed in the core: it is the same on every machine"));
    foreign.chain(hidden).map(|message| file.flaw(0, message)).collect()
}

/// No code of the core waits, reads a clock, draws random numbers, or does input or output.
pub(super) fn code(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, line, text) in tree.code_lines().filter(|(file, ..)| file.path.starts_with(SOURCES)) {
        let words = FOREIGN.iter().filter(|word| has_word(text, word));
        let message = |word: &&str| format!("{word} in the core: take its result as a parameter");
        flaws.extend(words.map(|word| file.flaw(line, message(word))));
    }
    flaws
}
