//! Whatever is done to a file, the answer is a lifecycle or flaws, never a panic.

use proptest::prelude::*;
use tenure_core::lifecycle::{BUILT_IN, Format, Lifecycle, diff};

use super::REVIEW;

/// One change to the lines of a file.
#[derive(Clone, Debug)]
enum Mutation {
    Delete(usize),
    Repeat(usize, usize),
    /// A line from another file.
    Borrow(usize, usize, usize),
    /// Words swapped for others of the same file.
    Word(usize, usize),
    Cut(usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        any::<usize>().prop_map(Mutation::Delete),
        (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
        (any::<usize>(), any::<usize>(), any::<usize>())
            .prop_map(|(file, from, to)| Mutation::Borrow(file, from, to)),
        (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Mutation::Word(from, to)),
        any::<usize>().prop_map(Mutation::Cut),
    ]
}

fn file(index: usize) -> &'static str {
    if index % 6 == 5 { REVIEW } else { BUILT_IN[index % 6] }
}

fn apply(source: &str, mutation: &Mutation) -> String {
    let mut lines: Vec<&str> = source.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let count = lines.len();
    match mutation {
        Mutation::Delete(line) => {
            lines.remove(line % count);
        }
        Mutation::Repeat(from, to) => lines.insert(to % count, lines[from % count]),
        Mutation::Borrow(other, from, to) => {
            let borrowed: Vec<&str> = file(*other).lines().collect();
            lines[to % count] = borrowed[from % borrowed.len()];
        }
        Mutation::Word(from, to) => {
            let words: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
            if words.is_empty() {
                return source.to_owned();
            }
            let (old, new) = (words[from % words.len()], words[to % words.len()]);
            return source.replacen(&format!("\"{old}\""), &format!("\"{new}\""), 1);
        }
        Mutation::Cut(at) => {
            let cut: String = source.chars().take(at % (source.chars().count() + 1)).collect();
            return cut;
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_are_answered(start in 0..6usize, mutations in prop::collection::vec(mutation(), 1..6)) {
        let source = mutations.iter().fold(file(start).to_owned(), |source, mutation| apply(&source, mutation));
        match Lifecycle::parse(&source) {
            Ok(lifecycle) => {
                for format in [Format::Text, Format::Mermaid, Format::Dot, Format::Svg] {
                    lifecycle.draw(format);
                }
                lifecycle.longest_life_untouched();
                lifecycle.longest_life_crashing();
                let original = Lifecycle::parse(file(start)).unwrap();
                diff(&original, &lifecycle);
                prop_assert!(diff(&lifecycle, &lifecycle).changes.is_empty());
            }
            Err(flaws) => {
                prop_assert!(!flaws.is_empty());
                for flaw in flaws {
                    prop_assert!(!flaw.places.is_empty() && !flaw.help.is_empty() && !flaw.message.contains('\n'));
                    for place in flaw.places {
                        prop_assert!(source.get(place.start..place.end).is_some(), "{place:?} is a piece of the file");
                    }
                }
            }
        }
    }

    #[test]
    fn any_text_is_answered(source in "\\PC{0,300}") {
        prop_assert!(Lifecycle::parse(&source).is_err());
    }
}
