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
        return vec![Flaw::new(MANIFEST, 0, "is not TOML, so its dependencies cannot be checked")];
    };
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    let foreign =
        table.into_iter().flat_map(toml::Table::keys).filter(|name| !DEPENDENCIES.contains(&name.as_str()));
    let mut flaws: Vec<Flaw> = foreign
        .map(|name| {
            Flaw::new(MANIFEST, 0, format!("{name} is not allowed in the core: use it in runtime or store"))
        })
        .collect();
    for hidden in ["target", "build-dependencies"].iter().filter(|key| manifest.contains_key(**key)) {
        flaws.push(Flaw::new(
            MANIFEST,
            0,
            format!("[{hidden}] is not allowed in the core: it is the same on every machine"),
        ));
    }
    flaws
}

/// No code of the core waits, reads a clock, draws random numbers, or does input or output.
pub(super) fn code(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| file.path.starts_with(SOURCES)) {
        for (line, text) in source.code_lines() {
            for word in FOREIGN.iter().filter(|word| has_word(text, word)) {
                let message = format!("{word} in the core: take its result as a parameter");
                flaws.push(Flaw::new(&file.path, line, message));
            }
        }
    }
    flaws
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn a_dependency_that_is_not_pure_is_a_flaw() {
        let manifest = "[dependencies]\nserde.workspace = true\ntokio = '1'\n[dependencies.uuid]\nversion = '1'\n\
                        [target.'cfg(unix)'.dependencies]\nlibc = '1'\n[dev-dependencies]\nproptest = '1'\n";
        let expected = "\
crates/core/Cargo.toml: tokio is not allowed in the core: use it in runtime or store
crates/core/Cargo.toml: [target] is not allowed in the core: it is the same on every machine";
        assert_eq!(found(&[(MANIFEST, manifest)], dependencies), expected);
    }

    #[test]
    fn a_core_that_cannot_be_checked_is_a_flaw() {
        assert_eq!(
            found(&[("crates/store/src/lib.rs", "")], dependencies),
            "crates/core/Cargo.toml: is missing"
        );
        assert!(found(&[(MANIFEST, "[")], dependencies).contains("is not TOML"));
    }

    #[test]
    fn waiting_clocks_and_randomness_in_the_core_are_flaws() {
        for word in FOREIGN {
            let text = format!(
                "//! No {word} here.\nfn a() {{ {word} }}\n#[cfg(test)]\nmod tests {{ use {word}; }}\n"
            );
            let flaw = found(&[("crates/core/src/a.rs", &text)], code);
            assert!(
                flaw.starts_with(&format!("crates/core/src/a.rs:2: {word} in the core")),
                "{word}: {flaw}"
            );
            assert_eq!(flaw.lines().count(), 1);
            assert_eq!(found(&[("crates/store/src/a.rs", &text)], code), "");
        }
    }

    #[test]
    fn a_part_of_a_word_is_not_a_flaw() {
        let text = "//! Why.\nfn operand(brand: Random, asynchronous: u8) {}\n";
        assert_eq!(found(&[("crates/core/src/a.rs", text)], code), "");
    }
}
