//! Type names: one meaning in one crate, and the glossary names only types that exist.

use std::collections::BTreeMap;

use super::Flaw;
use super::docs::quoted;
use super::names::in_name;
use super::source::Source;
use super::tree::Tree;

const GLOSSARY: &str = "docs/glossary.md";
/// The heading of the glossary's column with names of types.
const COLUMN: &str = "in code";
const DEFINITIONS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// No type is defined twice in one crate's `src`, private ones included. Tests are not checked.
pub(super) fn defined_once(tree: &Tree) -> Vec<Flaw> {
    let mut first: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let mut flaws = Vec::new();
    for (file, source) in tree.rust() {
        let Some((package, _)) = file.path.split_once("/src/") else { continue };
        for (line, name) in definitions(source).filter(|(line, _)| !source.is_test(*line)) {
            let place = format!("{}:{line}", file.path);
            match first.get(&(package, name)) {
                None => drop(first.insert((package, name), place)),
                Some(other) => {
                    let message = format!("{name} is already defined at {other}: rename one of them");
                    flaws.push(file.flaw(line, message));
                }
            }
        }
    }
    flaws
}

/// Every type in the glossary's column "in code" is defined, and every file there exists.
pub(super) fn glossary(tree: &Tree) -> Vec<Flaw> {
    let Some(file) = tree.file(GLOSSARY) else {
        return vec![Flaw::new(GLOSSARY, 0, "is missing: list the words with the types that stand for them")];
    };
    let defined: Vec<&str> =
        tree.rust().flat_map(|(_, source)| definitions(source)).map(|(_, name)| name).collect();
    let mut flaws = Vec::new();
    for (line, name) in names_in_code(&file.text) {
        let is_file = matches!(name.rsplit_once('.'), Some((_, "rs" | "sql")));
        let missing = if is_file {
            !tree.files.iter().any(|file| file.path == name || file.path.ends_with(&format!("/{name}")))
        } else {
            type_in(name).is_some_and(|name| !defined.contains(&name))
        };
        if missing {
            let message = format!("`{name}` does not exist: name the type that stands for the word");
            flaws.push(file.flaw(line, message));
        }
    }
    if flaws.is_empty() && names_in_code(&file.text).is_empty() {
        flaws.push(file.flaw(0, format!("has no table with a column {COLUMN:?}: add it")));
    }
    flaws
}

/// What stands between backticks in the column, with its line.
fn names_in_code(text: &str) -> Vec<(usize, &str)> {
    let mut column = None;
    let mut names = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(row) = line.trim().strip_prefix('|') else {
            column = None;
            continue;
        };
        let mut cells = row.split('|').map(str::trim);
        let Some(at) = column else {
            column = cells.position(|cell| cell == COLUMN);
            continue;
        };
        let cell = cells.nth(at).unwrap_or_default();
        names.extend(quoted(cell).map(|name| (index + 1, name)));
    }
    names
}

/// The first part of a path that is written like a type: `Job` of `Job::evolve`, `Role` of `api_key::Role`.
fn type_in(name: &str) -> Option<&str> {
    let mut parts = name.split("::").map(|part| part.split('<').next().unwrap_or(part));
    parts.find(|part| part.starts_with(char::is_uppercase) && part.contains(char::is_lowercase))
}

/// Every type that the file defines, with its line: by a keyword, or as the only word of a line of a macro call. An
/// associated type is not a definition.
fn definitions(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.code.iter().enumerate().filter_map(|(index, line)| {
        let name = match defined_type(line) {
            Some(("type", name)) => {
                let outer = block_head(source, index).unwrap_or_default();
                let is_associated = outer.split([' ', '<']).any(|word| word == "impl" || word == "trait");
                (!is_associated).then_some(name)?
            }
            Some((_, name)) => name,
            None => {
                let name = line.trim();
                let is_name = name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
                (is_name && block_head(source, index)?.ends_with("! {")).then_some(name)?
            }
        };
        Some((index + 1, name))
    })
}

/// The keyword and the name of a definition that begins on this line.
fn defined_type(line: &str) -> Option<(&str, &str)> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = after.trim_start();
        if let Some((_, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            rest = after.trim_start();
        }
    }
    let (keyword, rest) = rest.split_once(' ')?;
    let end = rest.find(|letter| !in_name(letter)).unwrap_or(rest.len());
    (DEFINITIONS.contains(&keyword) && rest.starts_with(char::is_uppercase)).then(|| (keyword, &rest[..end]))
}

/// The first line of the block around this line, as rustfmt indents it.
fn block_head(source: &Source, index: usize) -> Option<&str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(&source.code[index]);
    let outer = source.code[..index].iter().rev().filter(|line| !line.trim().is_empty());
    let mut heads =
        outer.filter(|line| indent(line) < own && !line.trim_start().starts_with(['{', '}', ')']));
    // A `where` clause may stand between the block and its head.
    heads.find(|line| !line.trim_start().starts_with("where")).map(|line| line.trim_end())
}
