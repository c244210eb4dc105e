//! One thing wrong with a lifecycle file, told so that it can be mended: which rule, where, and what would be lawful.
//!
//! Flaws are data. How they look on a terminal or in an answer is the business of whoever shows them.

use std::fmt;

/// One thing wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The rule that it breaks.
    pub rule: RuleId,
    /// What is wrong, in one line.
    pub message: String,
    /// Where: the first is the place to look at, the others are what it disagrees with. Never empty.
    pub places: Vec<Place>,
    /// What would mend it.
    pub help: String,
}

/// A piece of the file, with what is to be said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// A few words.
    pub label: String,
}

/// The rules that a file is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleId {
    /// It is TOML, and its values have the right types, forms and sizes.
    Syntax,
    /// Names: well-formed, unique, and what is named exists.
    L1,
    /// Roles: each state has one, or an outcome; `create` leads to the initial one, which is ready.
    L2,
    /// Absorbing: nothing leaves a final state.
    L3,
    /// Reachable: every state can be reached.
    L4,
    /// No trap: every state leads to a final one.
    L5,
    /// Forward: within one attempt there is no circle.
    L6,
    /// Bounded: what begins a new attempt costs one, or someone asked for it.
    L7,
    /// Total: the last rule for a trigger has no condition, and none is hidden by another.
    L8,
    /// Owned: whoever holds a job can report, and the loss of the lease leads somewhere.
    L9,
    /// Timed: nothing waits for ever unless the file says so.
    L10,
    /// Sensible: triggers leave and enter states in which they mean something.
    L11,
    /// Money: each final state settles or refunds.
    L12,
}

impl RuleId {
    /// All of them, in order.
    pub const ALL: [Self; 13] = [
        Self::Syntax,
        Self::L1,
        Self::L2,
        Self::L3,
        Self::L4,
        Self::L5,
        Self::L6,
        Self::L7,
        Self::L8,
        Self::L9,
        Self::L10,
        Self::L11,
        Self::L12,
    ];

    /// `L1` to `L12`, or `syntax`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::L5 => "L5",
            Self::L6 => "L6",
            Self::L7 => "L7",
            Self::L8 => "L8",
            Self::L9 => "L9",
            Self::L10 => "L10",
            Self::L11 => "L11",
            Self::L12 => "L12",
        }
    }

    /// What it is about, in a word.
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

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Flaw {
    /// One line: `12:8 L1 …`. The places and the help are left to those who have room.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.places.first() {
            write!(f, "{}:{} ", place.line, place.column)?;
        }
        write!(f, "{} {}", self.rule, self.message)
    }
}

/// A piece of the file by its bytes.
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

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) at: Span,
}

/// Gathers flaws, and knows where the lines of the file begin.
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

    /// Writes one down, unless the same was already said of the same place: a list of states is one slip, not many.
    pub(super) fn add(
        &mut self,
        rule: RuleId,
        message: impl Into<String>,
        places: &[(Span, &str)],
        help: impl Into<String>,
    ) {
        let places: Vec<Place> = places.iter().map(|(span, label)| self.place(*span, label)).collect();
        let message = message.into();
        let same = |flaw: &Flaw| {
            flaw.rule == rule && flaw.message == message && flaw.places.first() == places.first()
        };
        if !self.found.iter().any(same) {
            self.found.push(Flaw { rule, message, places, help: help.into() });
        }
    }

    /// What was found before, taken up again.
    pub(super) fn extend(&mut self, flaws: Vec<Flaw>) {
        self.found.extend(flaws);
    }

    /// All of them, in the order of the file.
    pub(super) fn into_sorted(mut self) -> Vec<Flaw> {
        self.found.sort_by_key(|flaw| (flaw.places.first().map_or(0, |place| place.start), flaw.rule));
        self.found
    }

    fn place(&self, span: Span, label: &str) -> Place {
        let start = floor_char(self.source, span.start);
        let end = floor_char(self.source, span.end.max(start));
        let line = self.line_starts.partition_point(|begin| *begin <= start).max(1);
        let column = self.source[self.line_starts[line - 1]..start].chars().count() + 1;
        Place { start, end, line, column, label: label.to_owned() }
    }
}

/// The nearest place at or before `index` where a character begins.
fn floor_char(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}
