//! Lifecycle files with random changes, most of them broken. The tests of `tenure-diagram` use them too.

use proptest::prelude::*;
use tenure_core::lifecycle::BUILT_IN;

use super::REVIEW;

/// One change to the text of a file. Numbers are taken modulo what there is to choose from.
#[derive(Clone, Debug)]
enum Mutation {
    DeleteLine(usize),
    CopyLine { from: usize, to: usize },
    BorrowLine { file: usize, from: usize, to: usize },
    SwapWord { from: usize, to: usize },
    Truncate(usize),
}

/// A valid file and what became of it after a few mutations.
#[derive(Clone, Debug)]
pub(crate) struct MutatedFile {
    pub(crate) original: &'static str,
    pub(crate) source: String,
}

pub(crate) fn mutated_file() -> impl Strategy<Value = MutatedFile> {
    (0..=BUILT_IN.len(), prop::collection::vec(mutation(), 1..6)).prop_map(|(start, mutations)| {
        let original = file(start);
        let source = mutations.iter().fold(original.to_owned(), |source, mutation| apply(&source, mutation));
        MutatedFile { original, source }
    })
}

fn mutation() -> impl Strategy<Value = Mutation> {
    any::<[usize; 4]>().prop_map(|[kind, file, from, to]| match kind % 5 {
        0 => Mutation::DeleteLine(from),
        1 => Mutation::CopyLine { from, to },
        2 => Mutation::BorrowLine { file, from, to },
        3 => Mutation::SwapWord { from, to },
        _ => Mutation::Truncate(from),
    })
}

fn file(index: usize) -> &'static str {
    BUILT_IN.get(index % (BUILT_IN.len() + 1)).copied().unwrap_or(REVIEW)
}

fn apply(source: &str, mutation: &Mutation) -> String {
    let mut lines: Vec<&str> = source.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let count = lines.len();
    match mutation {
        Mutation::DeleteLine(line) => {
            lines.remove(line % count);
        }
        Mutation::CopyLine { from, to } => lines.insert(to % count, lines[from % count]),
        Mutation::BorrowLine { file: other, from, to } => {
            let borrowed: Vec<&str> = file(*other).lines().collect();
            lines[to % count] = borrowed[from % borrowed.len()];
        }
        Mutation::SwapWord { from, to } => {
            let words: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
            if words.is_empty() {
                return source.to_owned();
            }
            let (old, new) = (words[from % words.len()], words[to % words.len()]);
            return source.replacen(&format!("\"{old}\""), &format!("\"{new}\""), 1);
        }
        Mutation::Truncate(at) => return source.chars().take(at % (source.chars().count() + 1)).collect(),
    }
    lines.join("\n")
}
