//! Guards: an expression over `payload`, `user_id` and `now` that must be true for every new job of a type.
//!
//! The language is a subset of CEL with the same meaning. It is implemented here because a guard runs on every
//! creation, on untrusted input: it must not loop, grow or overflow the stack, and it must be checked when it is loaded,
//! not when the first job arrives.
//!
//! ```text
//! expr     = binary [ "?" expr ":" expr ]
//! binary   = unary { operator unary }          loosest first:  ||   &&   == != < <= > >= in   + -   * / %
//! unary    = ( "!" | "-" ) unary | postfix
//! postfix  = primary { "." field | "[" expr "]" | "." method "(" [ expr ] ")" }
//! method   = size | startsWith | endsWith | contains | matches
//! primary  = literal | name | type | function "(" expr ")" | "(" expr ")" | list | map
//! function = size | has | int | double | string | type
//! name     = payload | user_id | now           now: milliseconds since 1970, an int; in a key: type and queue instead
//! type     = bool | int | double | string | list | map | null_type
//! literal  = null | true | false | 42 | 0x2a | 4.2e1 | "text" | 'text' | r"raw"
//! list     = "[" [ expr { "," expr } ] "]"      map = "{" [ expr ":" expr { "," expr ":" expr } ] "}"
//! ```
//!
//! As in CEL: `&&` and `||` absorb an error on one side if the other side decides; integer overflow is an error; ints
//! and doubles compare by value but cannot be added; a missing field is an error except in `has`.
//! A JSON number is an int if it is written as one and fits in 64 bits, otherwise a double.
//!
//! Deliberately left out: macros (`all`, `exists`, `map`, `filter`: they loop), unsigned ints, bytes, durations and
//! timestamps as types, and patterns that are not literals, because they could not be compiled when loaded.

mod ast;
mod eval;
mod key;
mod lex;
mod names;
mod operate;
mod parse;
mod value;

use serde_json::Value as Json;
use tenure_core::limits::PAYLOAD_BYTES_MAX;

pub use key::{KEY_BYTES_MAX, KeyError, KeyExpression, KeyInput};
pub(crate) use parse::pattern_reason;

/// The length of a guard's text.
pub const GUARD_BYTES_MAX: usize = 4096;
/// How deep brackets, signs, calls and conditionals may nest; chains of operators do not nest.
pub const GUARD_DEPTH_MAX: usize = 32;
/// The cost of one evaluation: a step for each node and for each byte that is read or created. Eight passes over the
/// largest payload.
pub const GUARD_STEPS_MAX: usize = 8 << 20;
/// The length of a pattern in `matches`.
pub const PATTERN_BYTES_MAX: usize = 256;
/// The size of a compiled pattern: `(a{1000}){1000}` is short but exceeds it.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 64 << 10;

const _: () = assert!(PATTERN_BYTES_MAX < GUARD_BYTES_MAX, "a pattern is a part of a guard");
const _: () =
    assert!(8 * PAYLOAD_BYTES_MAX <= GUARD_STEPS_MAX, "a guard can read the largest payload 8 times");

/// The result of evaluating a part of a guard.
type Result<T, E = GuardError> = std::result::Result<T, E>;

/// A checked guard: it parses, every name in it exists, and its patterns are compiled.
#[derive(Clone, Debug)]
pub struct Guard {
    source: String,
    root: ast::Expr,
}

impl Guard {
    pub fn parse(source: &str) -> Result<Guard, GuardFlaw> {
        let root = parse::parse(source)?;
        Ok(Guard { source: source.to_owned(), root })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the job may be created. An error counts as a refusal.
    pub fn admits(&self, input: &GuardInput<'_>) -> Result<bool, GuardError> {
        let GuardInput { payload, user_id, now_ms } = *input;
        let scope = Scope { payload, user_id, now_ms, job_type: "", queue: "" };
        eval::admits(&self.source, &self.root, scope)
    }
}

/// The variables of a guard.
#[derive(Clone, Copy, Debug)]
pub struct GuardInput<'a> {
    pub payload: &'a Json,
    /// Null in the guard if there is none.
    pub user_id: Option<&'a str>,
    pub now_ms: i64,
}

/// The variables of an evaluation. The parser admits those that the expression may use.
#[derive(Clone, Copy, Debug)]
struct Scope<'a> {
    payload: &'a Json,
    user_id: Option<&'a str>,
    now_ms: i64,
    job_type: &'a str,
    queue: &'a str,
}

/// Why a text is not a valid guard, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GuardFlaw {
    /// One line.
    pub message: String,
    /// The first byte of the faulty part.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// How to fix it, if known.
    pub help: Option<String>,
}

fn flaw(span: ast::SourceSpan, message: impl Into<String>, help: Option<&str>) -> GuardFlaw {
    GuardFlaw { message: message.into(), start: span.start, end: span.end, help: help.map(str::to_owned) }
}

/// Why an evaluation failed. Messages quote the guard, never the payload, which may contain secrets. `place` is the
/// part of the guard that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// A field, key or index that does not exist.
    #[error("{place} is missing")]
    Missing { place: String },
    #[error("{place} is {found}, not {wanted}")]
    WrongType { place: String, found: &'static str, wanted: &'static str },
    #[error("{place} applies `{operator}` to {left} and {right}")]
    Operands { place: String, operator: &'static str, left: &'static str, right: &'static str },
    /// An int outside 64 bits.
    #[error("{place} does not fit in 64 bits")]
    Overflow { place: String },
    #[error("{place} divides by zero")]
    DivisionByZero { place: String },
    /// A string that is not a number, or a double that is not an int.
    #[error("{place} cannot be converted to {wanted}")]
    Conversion { place: String, wanted: &'static str },
    /// A map literal with the same key twice.
    #[error("{place} has the same key twice")]
    DuplicateKey { place: String },
    /// Values nested deeper than any payload may be.
    #[error("the compared values are nested too deep")]
    TooDeep,
    /// The budget is exhausted.
    #[error("the guard takes more than {GUARD_STEPS_MAX} steps on this payload")]
    TooCostly,
}
