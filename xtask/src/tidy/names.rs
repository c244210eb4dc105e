//! Checks names for words that say nothing.

use super::Flaw;
use super::tree::Tree;

/// Each with what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("dlq", "dead letter"),
    ("util", "what it does"),
    ("utils", "what they do"),
    ("helper", "what it does"),
    ("manager", "what it does: batcher, sweeper, registry"),
    ("misc", "one file per meaning"),
];
const DECLARATIONS: &[&str] = &["fn ", "struct ", "enum ", "mod ", "trait "];

/// No banned word in the name of a file, module, function or type.
pub(super) fn banned(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for file in tree.ending(".rs").chain(tree.ending(".sql")) {
        let stem = file.path.rsplit_once('.').map_or(file.path.as_str(), |(stem, _)| stem);
        for part in stem.split('/') {
            flaws.extend(flaw_in(part).map(|message| Flaw::new(&file.path, 0, message)));
        }
    }
    for (file, source) in tree.rust() {
        for (index, text) in source.code.iter().enumerate() {
            let names = declared_names(text);
            flaws.extend(names.filter_map(flaw_in).map(|message| Flaw::new(&file.path, index + 1, message)));
        }
    }
    flaws
}

fn flaw_in(name: &str) -> Option<String> {
    let words = words_of(name);
    let (word, instead) = BANNED.iter().find(|(banned, _)| words.iter().any(|word| word == banned))?;
    Some(format!("{name}: not {word:?}; write {instead}"))
}

fn declared_names(line: &str) -> impl Iterator<Item = &str> {
    let after = DECLARATIONS.iter().flat_map(|keyword| {
        let places = line.match_indices(keyword).filter(|(at, _)| !line[..*at].ends_with(in_name));
        places.map(|(at, _)| &line[at + keyword.len()..])
    });
    after.map(|rest| rest.split(|letter| !in_name(letter)).next().unwrap_or_default())
}

/// The words of a name in `snake_case`, `kebab-case` or `CamelCase`, in lower case.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        if matches!(letter, '_' | '-' | '.') || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        after_lower = letter.is_lowercase();
    }
    words
}

/// Whether the text contains this word, not as a part of a longer name.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let begins_earlier = before.ends_with(in_name) && word.starts_with(in_name);
        let ends_later = after.starts_with(in_name) && word.ends_with(in_name);
        !begins_earlier && !ends_later
    })
}

fn in_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn a_banned_word_in_a_declaration_is_a_flaw() {
        for (word, instead) in BANNED {
            for line in [
                format!("pub(crate) fn job_{word}() {{}}"),
                format!("mod {word};"),
                format!("enum {word}_a {{}}"),
            ] {
                let flaw = found(&[("a/src/lib.rs", &format!("//! No {word} here.\n{line}\n"))], banned);
                assert!(flaw.starts_with("a/src/lib.rs:2: "), "{line}: {flaw}");
                assert!(flaw.ends_with(instead), "{line}: {flaw}");
            }
        }
        assert!(
            found(&[("a/src/lib.rs", "//! Why.\npub struct JobManager;\n")], banned).contains("JobManager")
        );
    }

    #[test]
    fn a_banned_word_in_a_path_is_a_flaw() {
        assert!(
            found(&[("a/src/time_utils.rs", "//! Why.\n")], banned)
                .starts_with("a/src/time_utils.rs: time_utils")
        );
        assert!(found(&[("a/misc/b.sql", "-- Why.\n")], banned).starts_with("a/misc/b.sql: misc"));
    }

    #[test]
    fn a_part_of_a_word_and_a_use_of_a_name_are_not_flaws() {
        let text = "//! Why.\nfn utility() { helper() }\nlet manager = 1;\nmodutils!();\n";
        assert_eq!(found(&[("a/src/lib.rs", text)], banned), "");
    }
}
