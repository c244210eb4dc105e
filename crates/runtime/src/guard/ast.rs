//! The syntax tree of a guard. Chains are flat (`All`, `Any`, `Fold`, `Path`), so the depth of the tree is the depth of
//! nesting in the text, which bounds the stack that evaluation needs.

use regex::Regex;

/// A range of bytes in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SourceSpan {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl SourceSpan {
    pub(super) fn to(self, last: SourceSpan) -> SourceSpan {
        SourceSpan { start: self.start, end: last.end }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: SourceSpan,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Str(String),
    Type(ValueType),
    Variable(Variable),
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    /// `a && b && …`
    All(Vec<Expr>),
    /// `a || b || …`
    Any(Vec<Expr>),
    /// `a + b - c`: evaluated from left to right.
    Fold(Box<Expr>, Vec<(Operator, Expr)>),
    /// Condition, then, else.
    If(Box<[Expr; 3]>),
    Path(Box<Expr>, Vec<PathStep>),
    /// Whether the map has the field.
    Has(Box<Expr>, String),
    Call(Function, Box<Expr>),
}

/// One element of `payload.a["b"].size()` after the first.
#[derive(Clone, Debug)]
pub(super) struct PathStep {
    pub(super) access: Access,
    /// The path up to and including this step, for messages.
    pub(super) span: SourceSpan,
}

#[derive(Clone, Debug)]
pub(super) enum Access {
    Field(String),
    Index(Expr),
    Size,
    StringTest(StringTest, Expr),
    Matches(Regex),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringTest {
    StartsWith,
    EndsWith,
    Contains,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Payload,
    UserId,
    /// Only in guards.
    Now,
    /// Only in keys, like `Queue`.
    JobType,
    Queue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Int,
    Double,
    String,
    Type,
}

/// The result of `type(x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Null,
    Bool,
    Int,
    Double,
    String,
    List,
    Map,
    /// The type of a type.
    Type,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Each operator with its text and its binding power; `||` and `&&` have 1 and 2.
pub(super) const OPERATORS: [(&str, u8, Operator); 12] = [
    ("==", 3, Operator::Equal),
    ("!=", 3, Operator::NotEqual),
    ("<", 3, Operator::Less),
    ("<=", 3, Operator::LessOrEqual),
    (">", 3, Operator::Greater),
    (">=", 3, Operator::GreaterOrEqual),
    ("in", 3, Operator::In),
    ("+", 4, Operator::Add),
    ("-", 4, Operator::Subtract),
    ("*", 5, Operator::Multiply),
    ("/", 5, Operator::Divide),
    ("%", 5, Operator::Remainder),
];

impl Operator {
    fn row(self) -> (&'static str, u8, Operator) {
        let row = OPERATORS.iter().find(|(.., operator)| *operator == self);
        *row.expect("the table has every operator")
    }

    pub(super) fn as_str(self) -> &'static str {
        self.row().0
    }

    fn is_arithmetic(self) -> bool {
        self.row().1 > 3
    }
}

impl Expr {
    /// Whether the result is not a bool for any payload: such a guard would refuse every job.
    pub(super) fn is_never_bool(&self) -> bool {
        match &self.kind {
            ExprKind::Fold(_, rest) => rest.last().is_some_and(|(operator, _)| operator.is_arithmetic()),
            ExprKind::Path(_, steps) => steps.last().is_some_and(|step| matches!(step.access, Access::Size)),
            ExprKind::If(parts) => parts[1].is_never_bool() && parts[2].is_never_bool(),
            ExprKind::Bool(_)
            | ExprKind::Variable(Variable::Payload)
            | ExprKind::Not(_)
            | ExprKind::All(_)
            | ExprKind::Any(_)
            | ExprKind::Has(..) => false,
            _ => true,
        }
    }
}
