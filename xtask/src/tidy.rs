//! Checks the rules that rustfmt and clippy do not know.
//!
//! Each check is a function from the tree's files to flaws, and each flaw says what to do instead. The checks read text,
//! not syntax trees, so that they work while the crates do not compile.

mod docs;
mod headers;
mod layers;
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

const CHECKS: &[fn(&Tree) -> Vec<Flaw>] = &[
    size::tree,
    size::files,
    size::functions,
    headers::rust,
    headers::sql,
    sql::twins,
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
    map::architecture,
    paths::machine_paths,
    paths::registries,
    docs::readme,
    docs::links,
    promises::tests_exist,
];

/// Runs every check; the error lists all flaws.
pub fn run() -> Result<Report> {
    check(&cargo::root())?;
    Ok(Report::default())
}

fn check(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let mut flaws: Vec<Flaw> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    if flaws.is_empty() {
        return Ok(());
    }
    flaws.sort();
    let lines: Vec<String> = flaws.iter().map(Flaw::to_string).collect();
    bail!("{} flaws\n{}", lines.len(), lines.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        if let Err(error) = check(&cargo::root()) {
            panic!("{error}");
        }
    }
}
