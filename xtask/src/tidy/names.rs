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
            flaws.extend(flaw_in(part).map(|message| file.flaw(0, message)));
        }
    }
    for (file, line, text) in tree.code_lines().chain(tree.test_lines()) {
        flaws.extend(declared_names(text).filter_map(flaw_in).map(|message| file.flaw(line, message)));
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

/// Whether names contain this character.
pub(super) fn in_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
