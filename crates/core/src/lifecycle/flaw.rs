//! Flaws of a lifecycle file: which rule is broken, where, and how to fix it.
//!
//! Flaws are data; the terminal, the HTTP API and the dashboard each format them.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    pub rule: RuleId,
    /// What is wrong, in one line.
    pub message: String,
    /// The first is the place to look at, the others are what it conflicts with. Never empty.
    pub locations: Vec<Location>,
    /// How to fix it.
    pub help: String,
}

/// A piece of the file with a short label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub label: String,
}

named! {
    /// The rules that a lifecycle file must follow.
    pub enum RuleId {
        /// The file is TOML, and its values have the right types, formats and sizes.
        Syntax = "syntax",
        /// Names: well-formed and unique; every name that is used exists.
        L1 = "L1",
        /// Roles: each state has a role or an outcome; `create` leads to the initial state, which is ready.
        L2 = "L2",
        /// Absorbing: no transition leaves a final state.
        L3 = "L3",
        /// Reachable: every state can be reached.
        L4 = "L4",
        /// No trap: every state leads to a final one.
        L5 = "L5",
        /// Forward: within one attempt there is no cycle.
        L6 = "L6",
        /// Bounded: a transition that begins a new attempt uses one up, or was requested.
        L7 = "L7",
        /// Total: the last rule for a trigger has no condition, and no rule hides another.
        L8 = "L8",
        /// Owned: the holder of a lease can report, and an expired lease leads somewhere.
        L9 = "L9",
        /// Timed: no job waits indefinitely unless the file allows it.
        L10 = "L10",
        /// Sensible: triggers leave and enter only states in which they can occur.
        L11 = "L11",
        /// Money: each final state settles or refunds.
        L12 = "L12",
    }
}

impl RuleId {
    /// The rule in one or two words: `names`, `no trap`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Syntax => "form",
            Self::L1 => "names",
            Self::L2 => "roles",
            Self::L3 => "absorbing",
            Self::L4 => "reachable",
            Self::L5 => "no trap",
            Self::L6 => "forward",
            Self::L7 => "bounded",
            Self::L8 => "total",
            Self::L9 => "owned",
            Self::L10 => "timed",
            Self::L11 => "sensible",
            Self::L12 => "money",
        }
    }
}

impl fmt::Display for Flaw {
    /// One line: `12:8 L1 …`, without the other locations and the help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = self.locations.first() {
            write!(f, "{}:{} ", location.line, location.column)?;
        }
        write!(f, "{} {}", self.rule, self.message)
    }
}

/// A range of bytes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) at: Span,
}

/// Collects flaws and resolves bytes to lines and columns.
pub(super) struct Flaws<'s> {
    source: &'s str,
    line_starts: Vec<usize>,
    found: Vec<Flaw>,
}

impl<'s> Flaws<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1);
        Self { source, line_starts: std::iter::once(0).chain(ends).collect(), found: Vec::new() }
    }

    /// Records a flaw, unless the same one is known for the same place: an error in a list of states is reported once.
    pub(super) fn add(
        &mut self,
        rule: RuleId,
        message: impl Into<String>,
        places: &[(Span, &str)],
        help: impl Into<String>,
    ) {
        let locations: Vec<Location> = places.iter().map(|(span, label)| self.locate(*span, label)).collect();
        let message = message.into();
        let same = |flaw: &Flaw| {
            flaw.rule == rule && flaw.message == message && flaw.locations.first() == locations.first()
        };
        if !self.found.iter().any(same) {
            self.found.push(Flaw { rule, message, locations, help: help.into() });
        }
    }

    pub(super) fn extend(&mut self, flaws: Vec<Flaw>) {
        self.found.extend(flaws);
    }

    /// All flaws in file order.
    pub(super) fn into_sorted(mut self) -> Vec<Flaw> {
        let start = |flaw: &Flaw| flaw.locations.first().map_or(0, |location| location.start);
        self.found.sort_by_key(|flaw| (start(flaw), flaw.rule));
        self.found
    }

    fn locate(&self, span: Span, label: &str) -> Location {
        let start = floor_char(self.source, span.start);
        let end = floor_char(self.source, span.end.max(start));
        let line = self.line_starts.partition_point(|begin| *begin <= start).max(1);
        let column = self.source[self.line_starts[line - 1]..start].chars().count() + 1;
        Location { start, end, line, column, label: label.to_owned() }
    }
}

/// The help of a flaw: the name that was probably meant, if any, and what is possible.
pub(super) fn suggestion(meant: Option<&str>, possible: &str) -> String {
    meant.map_or_else(|| possible.to_owned(), |meant| format!("did you mean `{meant}`? {possible}"))
}

/// The last character boundary at or before `index`.
fn floor_char(text: &str, index: usize) -> usize {
    let index = index.min(text.len());
    (0..=index).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}
