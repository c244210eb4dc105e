//! Plain words: comments, messages and names do without figures of speech, people and phrases that read like a
//! translation.
//!
//! Checked are comments, string literals and identifiers of Rust, comments of SQL, comments and values of TOML, scripts,
//! and the prose of Markdown. Text between backticks is a quotation and is not checked.

use super::docs::prose;
use super::names::words_of;
use super::tree::{File, Tree};
use super::{Flaw, source::Source};

const PEOPLE: &str = "name the caller, worker, request, node or user";
const SEPARATE: &str = "leave it out, or say \"separate\" or \"dedicated\"";
const RECEIVES: &str = "say what is received, passed or reported";

/// Words and phrases in lower case, each with what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("whoever", PEOPLE),
    ("whom", PEOPLE),
    ("somebody", PEOPLE),
    ("everybody", PEOPLE),
    ("nobody", "say \"no caller\", \"no worker\", \"none\""),
    ("he", PEOPLE),
    ("his", PEOPLE),
    ("him", PEOPLE),
    ("himself", PEOPLE),
    ("dear", "give the cost or the mechanism"),
    ("seldom", "give the interval or the mechanism"),
    ("such a one", "repeat the noun"),
    ("of its own", SEPARATE),
    ("of their own", SEPARATE),
    ("of one's own", SEPARATE),
    ("comes to", "say \"is\", \"returns\" or \"results in\""),
    ("came to", "say \"was\", \"returned\" or \"resulted in\""),
    ("goes on", "say \"continues\""),
    ("went on", "say \"continued\""),
    ("is told", RECEIVES),
    ("are told", RECEIVES),
    ("was told", RECEIVES),
    ("were told", RECEIVES),
    ("is heard", RECEIVES),
    ("are heard", RECEIVES),
    ("was heard", RECEIVES),
    ("is rung", "say \"is notified\" or \"is woken\""),
    ("was rung", "say \"was notified\" or \"was woken\""),
    ("how manieth", "say \"number\" or \"index\""),
    ("how many th", "say \"number\" or \"index\""),
    ("by itself", "say \"alone\", \"automatically\", or what causes it"),
    ("by themselves", "say \"alone\", \"automatically\", or what causes it"),
    ("for ever", "say \"without end\", \"indefinitely\" or give the limit"),
    ("what it is about", "name the subject or the field"),
    ("tells of", "say \"reports\" or \"describes\""),
    ("bell", "say \"watcher\", \"wake-up\" or \"notification\""),
    ("bells", "say \"watchers\", \"wake-ups\" or \"notifications\""),
    ("crew", "say \"worker registry\""),
    ("pulse", "say \"stats\""),
    ("switchboard", "say \"hub\""),
    ("door", "say \"lifecycle API\""),
    ("doors", "say \"lifecycle APIs\""),
    ("shelf", "say \"claim index\""),
    ("shelves", "say \"claim index\""),
    ("lane", "say \"batch worker\" or \"timeline\""),
    ("lanes", "say \"batch workers\" or \"timeline\""),
    ("farewell", "say \"shutdown\""),
];

/// Words that a file needs all the same: the beginning of its path, the phrase, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("xtask/src/scratch.rs", "nobody", "a user of Unix systems"),
    ("crates/store/tests/it/faults/postgres.rs", "nobody", "a user of Unix systems"),
    ("crates/store/src/postgres/options.rs", "lanes", "a parameter of the database URL"),
];
/// Files that are not checked.
const UNCHECKED: &[(&str, &str)] = &[
    ("xtask/src/tidy/vocabulary.rs", "it lists the words"),
    ("crates/store/src/sqlite/migrations/", "a migration is never edited"),
    ("crates/store/src/postgres/migrations/", "a migration is never edited"),
    ("lifecycles/", "stores refuse a registered lifecycle whose text has changed"),
];

/// No listed word in comments, messages, names and documents.
pub(super) fn plain_words(tree: &Tree) -> Vec<Flaw> {
    flaws_except(tree, EXCEPTIONS)
}

fn flaws_except(tree: &Tree, exceptions: &[(&str, &str, &str)]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for file in &tree.files {
        if UNCHECKED.iter().any(|(path, _)| file.path.starts_with(path)) {
            continue;
        }
        for found in phrases_in(file) {
            let excepts = |(path, phrase, _): &(&str, &str, &str)| {
                file.path.starts_with(path) && *phrase == found.phrase
            };
            match exceptions.iter().position(excepts) {
                Some(index) => used[index] = true,
                None => flaws.push(Flaw::new(
                    &file.path,
                    found.line,
                    format!("not {:?}: {}", found.phrase, found.instead),
                )),
            }
        }
    }
    let idle = exceptions.iter().zip(used).filter(|(_, used)| !used);
    flaws.extend(idle.map(|((path, phrase, _), _)| {
        Flaw::new(path, 0, format!("no longer says {phrase:?}: remove its exception in tidy/vocabulary.rs"))
    }));
    flaws.sort();
    flaws.dedup();
    flaws
}

struct Found {
    line: usize,
    phrase: &'static str,
    instead: &'static str,
}

/// A word in lower case, or, empty, an end that no phrase crosses.
struct Token {
    line: usize,
    word: String,
}

fn phrases_in(file: &File) -> Vec<Found> {
    let tokens = tokens_of(file);
    let mut found = Vec::new();
    for (index, first) in tokens.iter().enumerate().filter(|(_, token)| !token.word.is_empty()) {
        let begin = PHRASES.iter().filter(|(phrase, _)| phrase.starts_with(first.word.as_str()));
        for (phrase, instead) in begin {
            let words = tokens[index..].iter().map(|token| token.word.as_str());
            if phrase.split(' ').eq(words.take(phrase.split(' ').count())) {
                found.push(Found { line: first.line, phrase, instead });
            }
        }
    }
    found
}

fn tokens_of(file: &File) -> Vec<Token> {
    let mut tokens = Tokens::default();
    if let Some(source) = &file.source {
        tokens.rust(source);
        return tokens.0;
    }
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "md" => prose(current(file)).for_each(|(line, text)| tokens.text(line, text)),
        "sql" => numbered(&file.text).for_each(|(line, text)| {
            tokens.text(line, text.split_once("--").map_or("", |(_, comment)| comment));
        }),
        "toml" => numbered(&file.text).for_each(|(line, text)| tokens.text(line, value_of(text))),
        "js" | "mjs" | "py" | "sh" => numbered(&file.text).for_each(|(line, text)| tokens.text(line, text)),
        _ => {}
    }
    tokens.0
}

/// What stands in a changelog under a released version was said then; all other files are as they are now.
fn current(file: &File) -> &str {
    if file.path != "CHANGELOG.md" {
        return &file.text;
    }
    let released =
        file.text.match_indices("\n## ").find(|(at, _)| !file.text[at + 4..].starts_with("Unreleased"));
    released.map_or(&file.text, |(at, _)| &file.text[..at])
}

/// A line of TOML without its key: keys and tables are names on the wire.
fn value_of(line: &str) -> &str {
    let line = line.trim();
    match (line.starts_with('#'), line.starts_with('['), line.split_once('=')) {
        (true, _, _) => line,
        (_, true, _) => line.split_once('#').map_or("", |(_, comment)| comment),
        (_, _, Some((_, value))) => value,
        (_, _, None) => line,
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[derive(Default)]
struct Tokens(Vec<Token>);

impl Tokens {
    fn rust(&mut self, source: &Source) {
        for (index, line) in source.comments.iter().enumerate() {
            self.text(index + 1, line.trim_start().trim_start_matches(['/', '!', '*']));
        }
        for (first, literal) in &source.literals {
            self.end(*first);
            literal.lines().enumerate().for_each(|(index, line)| self.text(first + index, line));
        }
        for (index, line) in source.code.iter().enumerate() {
            for name in line.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
                self.end(index + 1);
                self.0.extend(words_of(name).into_iter().map(|word| Token { line: index + 1, word }));
            }
        }
    }

    /// The words of a line of prose. Text between backticks is one unknown word.
    fn text(&mut self, line: usize, text: &str) {
        let mut word = String::new();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if letter.is_alphanumeric() || matches!(letter, '_' | '\'') {
                word.extend(letter.to_lowercase());
                continue;
            }
            self.word(line, &mut word);
            if letter == '`'
                && let Some(end) = rest.find('`')
            {
                rest = &rest[end + 1..];
                self.end(line);
            } else if matches!(letter, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '|') {
                self.end(line);
            }
        }
        self.word(line, &mut word);
    }

    fn word(&mut self, line: usize, word: &mut String) {
        let text = std::mem::take(word);
        let word = text.trim_matches('\'');
        if !word.is_empty() {
            self.0.push(Token { line, word: word.to_owned() });
        }
    }

    fn end(&mut self, line: usize) {
        self.0.push(Token { line, word: String::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{found, tree_of};
    use super::*;

    fn found_in(path: &str, text: &str) -> String {
        found(&[(path, text)], |tree| flaws_except(tree, &[]))
    }

    #[test]
    fn a_listed_word_is_a_flaw_in_a_comment_a_message_and_a_name() {
        for text in [
            "//! Wakes whoever waits.\n",
            "fn a() { b(\"for Whoever waits\") }\n",
            "fn wake_whoever() {}\n",
            "struct WhoeverWaits;\n",
            "enum A {\n    Whoever,\n}\n",
            "fn a(whoever: u8) {}\n",
        ] {
            let flaw = found_in("a/src/lib.rs", text);
            assert!(flaw.contains("not \"whoever\": name the caller"), "{text}: {flaw}");
        }
    }

    #[test]
    fn every_listed_phrase_is_found_and_says_what_to_write() {
        for (phrase, instead) in PHRASES {
            let flaw = found_in("docs/a.md", &format!("This is {phrase}.\n"));
            assert_eq!(flaw, format!("docs/a.md:1: not {phrase:?}: {instead}"));
        }
    }

    #[test]
    fn a_phrase_over_two_lines_is_found_and_over_two_sentences_is_not() {
        let flaw = found_in("a/src/lib.rs", "//! A thread of its\n//! own.\nfn is_of_its_own() {}\n");
        assert_eq!(flaw.lines().count(), 2, "{flaw}");
        assert!(flaw.starts_with("a/src/lib.rs:1: not \"of its own\""), "{flaw}");
        assert_eq!(found_in("a/src/lib.rs", "//! Sooner or later it comes. To be clear: goes, on.\n"), "");
    }

    #[test]
    fn a_part_of_a_word_and_a_quotation_are_not_flaws() {
        assert_eq!(found_in("docs/a.md", "She, the, doorbell and `door` and `he` are fine.\n"), "");
        assert_eq!(found_in("docs/a.md", "```toml\n[door]\n```\n"), "");
    }

    #[test]
    fn keys_of_toml_and_names_in_sql_are_not_checked() {
        assert_eq!(found_in("a.toml", "[door]\ndoor = 'a'\n"), "");
        assert!(found_in("a.toml", "a = 'the door' # why\n").starts_with("a.toml:1: not \"door\""));
        assert_eq!(found_in("a.sql", "select * from shelves\n"), "");
        assert!(found_in("a.sql", "-- Reads the shelves.\n").starts_with("a.sql:1: not \"shelves\""));
    }

    #[test]
    fn what_a_changelog_says_of_a_released_version_is_not_checked() {
        let text = "# Changelog\n\n## Unreleased\n\n- A door.\n\n## 1.0.0\n\n- Two doors.\n";
        let flaw = found_in("CHANGELOG.md", text);
        assert_eq!(flaw, "CHANGELOG.md:5: not \"door\": say \"lifecycle API\"");
    }

    #[test]
    fn an_exception_holds_for_its_file_and_its_word_and_is_removed_when_idle() {
        let exceptions = [("a.md", "door", "a wooden one")];
        let tree = tree_of(&[("a.md", "A door of a crew.\n"), ("b.md", "A door.\n")]);
        let flaws: Vec<String> = flaws_except(&tree, &exceptions).iter().map(Flaw::to_string).collect();
        assert_eq!(flaws.len(), 2, "{flaws:?}");
        assert!(flaws[0].starts_with("a.md:1: not \"crew\"") && flaws[1].starts_with("b.md:1: not \"door\""));
        let idle = flaws_except(&tree_of(&[("a.md", "")]), &exceptions);
        assert!(idle[0].message.starts_with("no longer says \"door\""), "{idle:?}");
    }
}
