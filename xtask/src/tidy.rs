//! The rules that neither rustfmt nor clippy knows. What is only written down decays; what a test enforces stays.
//!
//! Each check is a function from the tree's files to flaws, and each flaw says what to do instead. The checks read
//! text, not syntax trees: they must work while nothing compiles, and they take a fraction of a second.

mod docs;
mod headers;
mod loose_ends;
mod map;
mod names;
mod paths;
mod purity;
mod seeds;
mod size;
mod source;
mod sql;
mod tree;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::cargo;
use crate::step::Report;
use tree::Tree;

/// One thing to put right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Flaw {
    path: String,
    /// Counted from 1; 0 where the flaw is the file itself.
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
    loose_ends::unfinished,
    loose_ends::sleeps,
    names::banned,
    map::architecture,
    paths::machine_paths,
    paths::registries,
    docs::readme,
    docs::links,
    seeds::tests_exist,
];

/// The step.
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
    bail!("{} to put right\n{}", lines.len(), lines.join("\n"));
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
