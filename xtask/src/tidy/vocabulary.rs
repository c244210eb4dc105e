//! Plain words: comments, messages and names do without figures of speech, people and phrases that read like a
//! translation.
//!
//! Checked are comments, string literals and identifiers of Rust, comments of SQL, comments and values of TOML, TypeScript,
//! scripts, plain text, and the prose of Markdown. Text between backticks is a quotation and is not checked.

use super::docs::prose;
use super::names::{in_name, words_of};
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
    ("come to", "say \"are\", \"return\" or \"result in\""),
    ("came to", "say \"was\", \"returned\" or \"resulted in\""),
    ("goes on", "say \"continues\""),
    ("go on", "say \"continue\""),
    ("went on", "say \"continued\""),
    ("is told", RECEIVES),
    ("are told", RECEIVES),
    ("be told", RECEIVES),
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
    ("seat", "say \"worker connection\""),
];

/// Words that a file needs all the same: the beginning of its path, the phrase, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("xtask/src/scratch.rs", "nobody", "a user of Unix systems"),
    ("crates/store/tests/it/faults/postgres.rs", "nobody", "a user of Unix systems"),
    ("crates/store/src/postgres/options.rs", "lanes", "a parameter of the database URL"),
    ("tests/e2e/tests/cli/snapshots/list", "door", "the text of a registered lifecycle"),
];
/// Files that are not checked.
const UNCHECKED: &[(&str, &str)] = &[
    ("xtask/src/tidy/vocabulary.rs", "it lists the words"),
    ("xtask/src/tidy/cases/vocabulary.txt", "its cases contain the words"),
    ("crates/store/src/sqlite/migrations/", "a migration is never edited"),
    ("crates/store/src/postgres/migrations/", "a migration is never edited"),
    ("lifecycles/", "stores refuse a registered lifecycle whose text has changed"),
];

/// No listed word in comments, messages, names and documents.
pub(super) fn plain_words(tree: &Tree) -> Vec<Flaw> {
    let is_checked = |file: &&File| !UNCHECKED.iter().any(|(path, _)| file.path.starts_with(path));
    let mut flaws = Vec::new();
    for file in tree.files.iter().filter(is_checked) {
        for Found { line, phrase, instead } in phrases_in(file) {
            let mut exceptions = EXCEPTIONS.iter().filter(|(path, ..)| file.path.starts_with(path));
            if !exceptions.any(|(_, excepted, _)| *excepted == phrase) {
                flaws.push(file.flaw(line, format!("not {phrase:?}: {instead}")));
            }
        }
    }
    flaws.sort();
    flaws.dedup();
    flaws
}

/// Every exception is needed.
pub(super) fn used_exceptions(tree: &Tree) -> Vec<Flaw> {
    let is_used = |path: &str, phrase: &str| {
        let mut files = tree.files.iter().filter(|file| file.path.starts_with(path));
        files.any(|file| phrases_in(file).iter().any(|found| found.phrase == phrase))
    };
    let idle = EXCEPTIONS.iter().filter(|(path, phrase, _)| !is_used(path, phrase));
    let message = |phrase| format!("no longer says {phrase:?}: remove its exception in tidy/vocabulary.rs");
    idle.map(|(path, phrase, _)| Flaw::new(path, 0, message(phrase))).collect()
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
        "sql" => file.lines().for_each(|(line, text)| {
            tokens.text(line, text.split_once("--").map_or("", |(_, comment)| comment));
        }),
        "toml" => file.lines().for_each(|(line, text)| tokens.text(line, value_of(text))),
        // A script without an extension.
        "" if !file.text.starts_with("#!") => {}
        "" | "js" | "mjs" | "ts" | "py" | "sh" | "txt" => {
            file.lines().for_each(|(line, text)| tokens.text(line, text));
        }
        _ => {}
    }
    tokens.0
}

/// What stands in a changelog under an earlier version was said then; all other files are as they are now.
fn current(file: &File) -> &str {
    if file.path != "CHANGELOG.md" {
        return &file.text;
    }
    let mut headings = file.text.match_indices("\n## ").map(|(at, _)| (at, &file.text[at + 4..]));
    let present = ["Unreleased", env!("CARGO_PKG_VERSION")];
    let earlier = headings.find(|(_, heading)| !present.iter().any(|name| heading.starts_with(name)));
    earlier.map_or(&file.text, |(at, _)| &file.text[..at])
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
            for name in line.split(|letter| !in_name(letter)) {
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
            if in_name(letter) || letter == '\'' {
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
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn every_listed_phrase_is_found_and_says_what_to_write() {
        for (phrase, instead) in PHRASES {
            let flaw = found(&[("docs/a.md", &format!("This is {phrase}.\n"))], plain_words);
            assert_eq!(flaw, format!("docs/a.md:1: not {phrase:?}: {instead}"));
        }
    }
}
