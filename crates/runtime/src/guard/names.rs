//! The names that a guard may use, and suggestions for unknown ones.

use tenure_core::text::did_you_mean;

use super::ast::{ExprKind, SourceSpan, ValueType, Variable};
use super::{GuardFlaw, flaw};

/// What an expression is for, which determines its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Guard,
    Key,
}

impl Purpose {
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Guard => &["payload", "user_id", "now"],
            Self::Key => &["payload", "user_id", "type", "queue"],
        }
    }
}

const FUNCTIONS: [&str; 6] = ["size", "has", "int", "double", "string", "type"];
const METHODS: [&str; 5] = ["size", "startsWith", "endsWith", "contains", "matches"];
/// The macros of CEL, which are left out because they loop.
const MACROS: [&str; 6] = ["all", "exists", "exists_one", "map", "filter", "transformList"];

/// A variable or type by its name.
pub(super) fn name(word: &str, span: SourceSpan, purpose: Purpose) -> Result<ExprKind, GuardFlaw> {
    let is_key = purpose == Purpose::Key;
    Ok(match word {
        "payload" => ExprKind::Variable(Variable::Payload),
        "user_id" => ExprKind::Variable(Variable::UserId),
        "now" if !is_key => ExprKind::Variable(Variable::Now),
        "type" if is_key => ExprKind::Variable(Variable::JobType),
        "queue" if is_key => ExprKind::Variable(Variable::Queue),
        "bool" => ExprKind::Type(ValueType::Bool),
        "int" => ExprKind::Type(ValueType::Int),
        "double" => ExprKind::Type(ValueType::Double),
        "string" => ExprKind::Type(ValueType::String),
        "list" => ExprKind::Type(ValueType::List),
        "map" => ExprKind::Type(ValueType::Map),
        "null_type" => ExprKind::Type(ValueType::Null),
        "type" => ExprKind::Type(ValueType::Type),
        _ => return Err(unknown_name(word, span, purpose)),
    })
}

/// The flaw of a call to an unknown function.
pub(super) fn unknown_function(word: &str, span: SourceSpan) -> GuardFlaw {
    if METHODS.contains(&word) {
        return flaw(span, format!("`{word}` is a method"), Some(&format!("write x.{word}(y)")));
    }
    unknown_call(word, span, &FUNCTIONS, "the functions are")
}

/// The flaw of a call to an unknown method.
pub(super) fn unknown_method(word: &str, span: SourceSpan) -> GuardFlaw {
    if FUNCTIONS.contains(&word) {
        let message = format!("`{word}` is a function, not a method");
        return flaw(span, message, Some(&format!("write {word}(x)")));
    }
    unknown_call(word, span, &METHODS, "the methods are")
}

fn unknown_name(word: &str, span: SourceSpan, purpose: Purpose) -> GuardFlaw {
    if FUNCTIONS.contains(&word) {
        return flaw(span, format!("`{word}` is a function"), Some(&format!("write {word}(x)")));
    }
    flaw(
        span,
        format!("`{word}` is not a variable"),
        Some(&advice(word, purpose.variables(), "the variables are")),
    )
}

fn unknown_call(word: &str, span: SourceSpan, known: &[&str], all: &str) -> GuardFlaw {
    if MACROS.contains(&word) {
        let help = format!("{all}: {}", known.join(", "));
        return flaw(span, format!("`{word}` is not available: guards have no loops"), Some(&help));
    }
    flaw(span, format!("`{word}` is not a function"), Some(&advice(word, known, all)))
}

fn advice(word: &str, known: &[&str], all: &str) -> String {
    match did_you_mean(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("{all}: {}", known.join(", ")),
    }
}
