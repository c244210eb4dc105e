//! Evaluates licence expressions of Cargo.toml (`MIT OR Apache-2.0`, `(MIT OR Apache-2.0) AND Unicode-3.0`).
//!
//! `AND` binds closer than `OR`; `X WITH exception` is one licence and must be allowed as a whole; the old `A/B` means
//! `A OR B`. An expression that cannot be parsed is not permitted.

/// Whether allowed licences satisfy the expression.
pub(super) fn permits(expression: &str, allowed: impl Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    parser.alternatives() == Some(true) && parser.words.is_empty()
}

struct Parser<'a, F> {
    words: &'a [&'a str],
    allowed: F,
}

impl<'a, F: Fn(&str) -> bool> Parser<'a, F> {
    fn alternatives(&mut self) -> Option<bool> {
        let mut result = self.conjunction()?;
        while self.takes("OR") {
            result |= self.conjunction()?;
        }
        Some(result)
    }

    fn conjunction(&mut self) -> Option<bool> {
        let mut result = self.licence()?;
        while self.takes("AND") {
            result &= self.licence()?;
        }
        Some(result)
    }

    fn licence(&mut self) -> Option<bool> {
        if self.takes("(") {
            let result = self.alternatives()?;
            return self.takes(")").then_some(result);
        }
        let name = self.next()?;
        if self.takes("WITH") {
            let exception = self.next()?;
            return Some((self.allowed)(&format!("{name} WITH {exception}")));
        }
        Some((self.allowed)(name))
    }

    fn takes(&mut self, word: &str) -> bool {
        let there = self.words.first() == Some(&word);
        if there {
            self.words = &self.words[1..];
        }
        there
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str) -> bool {
        permits(expression, |id| ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].contains(&id))
    }

    #[test]
    fn expressions_that_are_satisfied() {
        let list =
            "MIT, MIT OR GPL-3.0, GPL-3.0/MIT, (MIT OR GPL-3.0) AND Zlib, Apache-2.0 WITH LLVM-exception";
        for expression in list.split(", ") {
            assert!(check(expression), "{expression}");
        }
    }

    #[test]
    fn expressions_that_are_not_satisfied() {
        let list =
            "GPL-3.0, MIT AND GPL-3.0, Apache-2.0, GPL-3.0 OR MIT AND GPL-2.0, , MIT OR, (MIT, MIT Zlib";
        for expression in list.split(", ") {
            assert!(!check(expression), "{expression:?}");
        }
    }
}
