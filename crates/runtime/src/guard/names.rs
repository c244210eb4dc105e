//! The words that a guard may use, and what to say about the others: the nearest word if one is near, else all.

use super::GuardFlaw;
use super::ast::{ExprKind, Variable, SourceSpan, ValueType};

const NAMES: [&str; 3] = ["payload", "user_id", "now"];
const FUNCTIONS: [&str; 6] = ["size", "has", "int", "double", "string", "type"];
const METHODS: [&str; 5] = ["size", "startsWith", "endsWith", "contains", "matches"];
/// CEL's macros, without which a guard cannot loop.
const MACROS: [&str; 6] = ["all", "exists", "exists_one", "map", "filter", "transformList"];

/// A word that stands for a value.
pub(super) fn name(word: &str, span: SourceSpan) -> Result<ExprKind, GuardFlaw> {
    Ok(match word {
        "payload" => ExprKind::Name(Variable::Payload),
        "user_id" => ExprKind::Name(Variable::UserId),
        "now" => ExprKind::Name(Variable::Now),
        "bool" => ExprKind::Type(ValueType::Bool),
        "int" => ExprKind::Type(ValueType::Int),
        "double" => ExprKind::Type(ValueType::Double),
        "string" => ExprKind::Type(ValueType::String),
        "list" => ExprKind::Type(ValueType::List),
        "map" => ExprKind::Type(ValueType::Map),
        "null_type" => ExprKind::Type(ValueType::Null),
        "type" => ExprKind::Type(ValueType::Type),
        _ => return Err(unknown_name(word, span)),
    })
}

/// A call of something that is no function.
pub(super) fn unknown_function(word: &str, span: SourceSpan) -> GuardFlaw {
    if METHODS.contains(&word) {
        let help = format!("write x.{word}(y)");
        return flaw(span, format!("`{word}` is called on a value"), help);
    }
    unknown_call(word, span, &FUNCTIONS, "the functions are")
}

/// A call on a value of something that is no method.
pub(super) fn unknown_method(word: &str, span: SourceSpan) -> GuardFlaw {
    if FUNCTIONS.contains(&word) {
        return flaw(span, format!("`{word}` is not called on a value"), format!("write {word}(x)"));
    }
    unknown_call(word, span, &METHODS, "a value has")
}

fn unknown_name(word: &str, span: SourceSpan) -> GuardFlaw {
    if FUNCTIONS.contains(&word) {
        return flaw(span, format!("`{word}` is a function"), format!("write {word}(x)"));
    }
    flaw(span, format!("a guard cannot see `{word}`"), advice(word, &NAMES, "a guard sees"))
}

fn unknown_call(word: &str, span: SourceSpan, known: &[&str], all: &str) -> GuardFlaw {
    if MACROS.contains(&word) {
        let help = format!("{all}: {}", known.join(", "));
        return flaw(span, format!("a guard has no loops, so there is no `{word}`"), help);
    }
    flaw(span, format!("there is no function `{word}`"), advice(word, known, all))
}

fn advice(word: &str, known: &[&str], all: &str) -> String {
    let nearest = known.iter().map(|name| (distance(word, name), name)).min();
    match nearest {
        // A third of the letters: in short words every other word is near.
        Some((apart, name)) if apart <= 1.max(name.len() / 3) => format!("did you mean `{name}`?"),
        _ => format!("{all}: {}", known.join(", ")),
    }
}

/// How many letters to add, drop or change.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

fn flaw(span: SourceSpan, message: String, help: String) -> GuardFlaw {
    GuardFlaw { message, start: span.start, end: span.end, help: Some(help) }
}
