//! What a guard is after parsing. Chains are flat (`All`, `Any`, `Fold`, `Path`), so that the depth of the tree is
//! the depth of the nesting that was written, and walking it needs no more stack than that.

use regex::Regex;

/// A part of the text, by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Str(String),
    Type(Type),
    Name(Name),
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
    Path(Box<Expr>, Vec<Step>),
    /// Is this field of that map there?
    Has(Box<Expr>, String),
    Call(Function, Box<Expr>),
}

/// One link of `payload.a["b"].size()`.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) act: Act,
    /// The text of the path up to and with this link, for messages.
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Act {
    Field(String),
    Index(Expr),
    Size,
    Search(Search, Expr),
    Matches(Regex),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    StartsWith,
    EndsWith,
    Contains,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
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
    Type,
}

/// What `type(x)` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Bool,
    Int,
    Double,
    String,
    List,
    Map,
    /// The type of these.
    Itself,
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
            Kind::Null
            | Kind::Int(_)
            | Kind::Double(_)
            | Kind::Str(_)
            | Kind::Type(_)
            | Kind::List(_)
            | Kind::Map(_)
            | Kind::Negate(_)
            | Kind::Call(..)
            | Kind::Name(Name::UserId | Name::Now) => true,
            Kind::Fold(_, rest) => rest.last().is_some_and(|(operator, _)| operator.is_arithmetic()),
            Kind::Path(_, steps) => steps.last().is_some_and(|step| matches!(step.act, Act::Size)),
            Kind::If(parts) => parts[1].is_never_bool() && parts[2].is_never_bool(),
            Kind::Bool(_)
            | Kind::Name(Name::Payload)
            | Kind::Not(_)
            | Kind::All(_)
            | Kind::Any(_)
            | Kind::Has(..) => false,
        }
    }
}
