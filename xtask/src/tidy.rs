//! Checks the rules that rustfmt and clippy do not know.
//!
//! Each check is a function from the tree's files to flaws, and each flaw says what to do instead. The checks read text,
//! not syntax trees, so that they work while the crates do not compile.

mod docs;
mod headers;
mod layers;
mod llms;
mod loose_ends;
mod map;
mod names;
mod paths;
mod promises;
mod purity;
mod size;
mod source;
mod sql;
mod tree;
mod types;
mod vocabulary;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::cargo;
use crate::step::Report;
use tree::Tree;

/// One violation of a rule, with what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Flaw {
    path: String,
    /// From 1; 0 if the flaw is the file's.
    line: usize,
    message: String,
}

impl Flaw {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_string(), line, message: message.into() }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.path, self.message),
            line => write!(out, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// The checks by their paths.
macro_rules! checks {
    ($($module:ident::$check:ident,)*) => {
        &[$((concat!(stringify!($module), "::", stringify!($check)), $module::$check)),*]
    };
}

type Check = fn(&Tree) -> Vec<Flaw>;

const CHECKS: &[(&str, Check)] = checks![
    size::files,
    size::functions,
    headers::rust,
    headers::sql,
    sql::twins,
    sql::used_exceptions,
    sql::only_in_store,
    sql::no_state_names,
    sql::one_clock,
    sql::migrations,
    purity::dependencies,
    purity::code,
    layers::arrows,
    layers::no_urls_below_the_server,
    layers::only_decisions_refuse,
    loose_ends::unfinished,
    loose_ends::sleeps,
    names::banned,
    types::defined_once,
    types::glossary,
    vocabulary::plain_words,
    vocabulary::used_exceptions,
    map::architecture,
    paths::machine_paths,
    paths::registries,
    docs::readme,
    docs::links,
    llms::index,
    promises::tests_exist,
];

/// Runs every check; the error lists all flaws.
pub fn run() -> Result<Report> {
    check(&cargo::root())?;
    Ok(Report::default())
}

fn check(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let mut flaws: Vec<Flaw> = CHECKS.iter().flat_map(|(_, check)| check(&tree)).collect();
    if flaws.is_empty() {
        return Ok(());
    }
    flaws.sort();
    let lines: Vec<String> = flaws.iter().map(Flaw::to_string).collect();
    bail!("{} flaws\n{}", lines.len(), lines.join("\n"));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::tree::tests::found;
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        if let Err(error) = check(&cargo::root()) {
            panic!("{error}");
        }
    }

    /// A case is a line `=== title`, files after lines `--- path`, and flaws after a line `>>> check`.
    #[test]
    fn every_check_finds_the_flaws_of_its_cases() {
        for file in fs::read_dir(cargo::root().join("xtask/src/tidy/cases")).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            for case in text.split("\n=== ").skip(1) {
                let (title, case) = case.split_once("\n--- ").unwrap();
                let (files, flaws) = case.split_once("\n>>> ").unwrap();
                let (name, flaws) = flaws.split_once('\n').unwrap();
                let (_, check) = CHECKS.iter().find(|(check, _)| *check == name).unwrap();
                let files = files.split("\n--- ").map(|file| file.split_once('\n').unwrap_or((file, "")));
                assert_eq!(found(&files.collect::<Vec<_>>(), check), flaws.trim_end(), "{title}");
            }
        }
    }
}
