//! What a guard is after parsing. Chains are flat (`All`, `Any`, `Fold`, `Path`), so that the depth of the tree is
//! the depth of the nesting that was written, and walking it needs no more stack than that.

use regex::Regex;

/// A part of the text, by byte.
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
    Name(Variable),
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    /// `a && b && …`
    All(Vec<Expr>),
    /// `a || b || …`
    Any(Vec<Expr>),
    /// `a + b * c - d`: from left to right, each operator applied to all that is left of it.
    Fold(Box<Expr>, Vec<(Operator, Expr)>),
    /// Condition, then, else.
    If(Box<[Expr; 3]>),
    Path(Box<Expr>, Vec<PathStep>),
    /// Is this field of that map there?
    Has(Box<Expr>, String),
    Call(Function, Box<Expr>),
}

/// One link of `payload.a["b"].size()`.
#[derive(Clone, Debug)]
pub(super) struct PathStep {
    pub(super) access: Access,
    /// The text of the path up to and with this link, for messages.
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
    Now,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Int,
    Double,
    String,
    ValueType,
}

/// What `type(x)` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Null,
    Bool,
    Int,
    Double,
    String,
    ListValue,
    MapValue,
    /// The type of these.
    ValueType,
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

impl Operator {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::In => "in",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }

    fn is_arithmetic(self) -> bool {
        match self {
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Remainder => true,
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual
            | Operator::In => false,
        }
    }
}

impl Expr {
    /// Whether this can be said without a payload: such a guard would refuse every job.
    pub(super) fn is_never_bool(&self) -> bool {
        match &self.kind {
            ExprKind::Null
            | ExprKind::Int(_)
            | ExprKind::Double(_)
            | ExprKind::Str(_)
            | ExprKind::Type(_)
            | ExprKind::List(_)
            | ExprKind::Map(_)
            | ExprKind::Negate(_)
            | ExprKind::Call(..)
            | ExprKind::Name(Variable::UserId | Variable::Now) => true,
            ExprKind::Fold(_, rest) => rest.last().is_some_and(|(operator, _)| operator.is_arithmetic()),
            ExprKind::Path(_, steps) => steps.last().is_some_and(|step| matches!(step.access, Access::Size)),
            ExprKind::If(parts) => parts[1].is_never_bool() && parts[2].is_never_bool(),
            ExprKind::Bool(_)
            | ExprKind::Name(Variable::Payload)
            | ExprKind::Not(_)
            | ExprKind::All(_)
            | ExprKind::Any(_)
            | ExprKind::Has(..) => false,
        }
    }
}
