//! Guards: the expression that a type asks of every new job, over `payload`, `user_id` and `now`. The language is a
//! part of CEL, and what is accepted here means the same there. It is our own because a guard runs on every creation,
//! on input that a stranger wrote: it must neither loop, nor grow, nor overflow the stack, and it must be proved
//! when it is loaded, not when the first job arrives.
//!
//! ```text
//! expr     = binary [ "?" expr ":" expr ]
//! binary   = unary { operator unary }          loosest first:  ||   &&   == != < <= > >= in   + -   * / %
//! unary    = ( "!" | "-" ) unary | postfix
//! postfix  = primary { "." field | "[" expr "]" | "." method "(" [ expr ] ")" }
//! method   = size | startsWith | endsWith | contains | matches
//! primary  = literal | name | type | function "(" expr ")" | "(" expr ")" | list | map
//! function = size | has | int | double | string | type
//! name     = payload | user_id | now           now: milliseconds since 1970, an int
//! type     = bool | int | double | string | list | map | null_type
//! literal  = null | true | false | 42 | 0x2a | 4.2e1 | "text" | 'text' | r"raw"
//! list     = "[" [ expr { "," expr } ] "]"      map = "{" [ expr ":" expr { "," expr ":" expr } ] "}"
//! ```
//!
//! As in CEL: `&&` and `||` absorb an error on one side if the other side decides; an int that overflows is an
//! error; ints and doubles compare by value but do not add up; what is missing is an error unless `has` asked.
//! A JSON number is an int if it is written as one and fits in 64 bits, else a double.
//!
//! Left out on purpose: macros (`all`, `exists`, `map`, `filter`: they loop), unsigned ints, bytes, durations and
//! timestamps as types, and patterns that are not literals, since those could not be compiled when loaded.

mod ast;
mod eval;
mod lex;
mod names;
mod operate;
mod parse;
mod value;

use serde_json::Value as Json;

pub(crate) use parse::pattern_reason;

/// A guard's text.
pub const GUARD_BYTES_MAX: usize = 4096;
/// How deep brackets, signs, calls and choices may nest; chains of operators do not nest.
pub const GUARD_DEPTH_MAX: usize = 32;
/// What one evaluation may cost: a step for each node, and one for each byte that is read or made. Eight passes
/// over the largest payload.
pub const GUARD_STEPS_MAX: usize = 8 << 20;
/// The text of a pattern in `matches`.
pub const PATTERN_BYTES_MAX: usize = 256;
/// The same pattern compiled: `(a{1000}){1000}` is short, and is refused by this.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 64 << 10;

const _: () = assert!(PATTERN_BYTES_MAX < GUARD_BYTES_MAX, "a pattern is a part of a guard");
const _: () = assert!(
    8 * tenure_core::limits::PAYLOAD_BYTES_MAX <= GUARD_STEPS_MAX,
    "a guard can look at the largest payload more than once"
);

/// A guard that was proved: it parses, it names only what exists, and its patterns are compiled.
#[derive(Clone, Debug)]
pub struct Guard {
    source: String,
    root: ast::Expr,
}

impl Guard {
    /// Proves a guard's text.
    pub fn parse(source: &str) -> Result<Guard, GuardFlaw> {
        let root = parse::parse(source)?;
        Ok(Guard { source: source.to_owned(), root })
    }

    /// The text it was made from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether a job with this payload, of this user, at this time may be created. An error is a refusal too: the
    /// guard did not say yes.
    pub fn admits(&self, scope: &GuardInput<'_>) -> Result<bool, GuardError> {
        eval::admits(&self.source, &self.root, *scope)
    }
}

/// What a guard sees.
#[derive(Clone, Copy, Debug)]
pub struct GuardInput<'a> {
    /// `payload`.
    pub payload: &'a Json,
    /// `user_id`; null where there is none.
    pub user_id: Option<&'a str>,
    /// `now`.
    pub now_ms: i64,
}

/// Why a text is not a guard, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GuardFlaw {
    /// One line.
    pub message: String,
    /// Where it begins: a byte of the text.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// The way out, if there is one to offer.
    pub help: Option<String>,
}

/// Why a guard came to no answer. The messages quote the guard, never the payload: there may be secrets in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// A field, key or index that is not there.
    #[error("{place} is missing")]
    Missing {
        /// The part of the guard.
        place: String,
    },
    /// A value of a kind that cannot be used so.
    #[error("{place} is {found}, not {wanted}")]
    ExprKind {
        /// The part of the guard.
        place: String,
        /// What it came to.
        found: &'static str,
        /// What the guard needs there.
        wanted: &'static str,
    },
    /// Two values that do not go together.
    #[error("{place} joins {left} and {right} with `{operator}`, which has no meaning")]
    Operands {
        /// The part of the guard.
        place: String,
        /// As written.
        operator: &'static str,
        /// The kind on the left.
        left: &'static str,
        /// The kind on the right.
        right: &'static str,
    },
    /// An int outside 64 bits.
    #[error("{place} does not fit in 64 bits")]
    Overflow {
        /// The part of the guard.
        place: String,
    },
    /// An int divided by zero.
    #[error("{place} divides by zero")]
    DivisionByZero {
        /// The part of the guard.
        place: String,
    },
    /// Text that is no number, a double that is no int.
    #[error("{place} cannot be read as {wanted}")]
    Conversion {
        /// The part of the guard.
        place: String,
        /// What it should have become.
        wanted: &'static str,
    },
    /// A map literal whose keys came to the same.
    #[error("{place} has one key twice")]
    DuplicateKey {
        /// The part of the guard.
        place: String,
    },
    /// Values nested deeper than any payload may be.
    #[error("the values compared are nested too deep")]
    TooDeep,
    /// The budget is spent.
    #[error("the guard costs more than {GUARD_STEPS_MAX} steps on this payload")]
    TooCostly,
}
