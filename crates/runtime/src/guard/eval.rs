//! Evaluates a guard. Recursion follows the syntax tree, whose depth is bounded by the parser; every node is visited at
//! most once and costs a step.

use std::borrow::Cow;

use super::ast::{Access, Expr, ExprKind, Function, PathStep, SourceSpan, StringTest, Variable};
use super::value::GuardValue::{self, Bool, Int, Str};
use super::value::{Budget, ListValue, MapValue};
use super::{GuardError, Result, Scope};

/// How much of a guard a message quotes, in characters.
const PLACE_CHARS_MAX: usize = 60;

pub(super) fn admits(source: &str, root: &Expr, scope: Scope<'_>) -> Result<bool> {
    Evaluator { source, scope, budget: Budget::full() }.truth(root)
}

pub(super) fn value<'a>(source: &'a str, root: &'a Expr, scope: Scope<'a>) -> Evaluated<'a> {
    Evaluator { source, scope, budget: Budget::full() }.eval(root)
}

pub(super) type Evaluated<'a> = Result<GuardValue<'a>>;
/// A value that may be missing.
type Found<'a> = Result<Option<GuardValue<'a>>>;

/// One evaluation. Operators and conversions are in `operate`.
pub(super) struct Evaluator<'a> {
    source: &'a str,
    scope: Scope<'a>,
    pub(super) budget: Budget,
}

impl<'a> Evaluator<'a> {
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Evaluated<'a> {
        self.budget.spend(1)?;
        // No `?` below: in a debug build each takes stack space at every level.
        match &expr.kind {
            ExprKind::Null => Ok(GuardValue::Null),
            ExprKind::Bool(bool) => Ok(Bool(*bool)),
            ExprKind::Int(int) => Ok(Int(*int)),
            ExprKind::Double(double) => Ok(GuardValue::Double(*double)),
            ExprKind::Str(text) => Ok(Str(Cow::Borrowed(text))),
            ExprKind::Type(value_type) => Ok(GuardValue::Type(*value_type)),
            ExprKind::Variable(variable) => Ok(self.variable(*variable)),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries, expr.span),
            ExprKind::Not(operand) => self.truth(operand).map(|bool| Bool(!bool)),
            ExprKind::Negate(operand) => self.negate(operand, expr.span),
            ExprKind::All(parts) => self.any_is(parts, false).map(Bool),
            ExprKind::Any(parts) => self.any_is(parts, true).map(Bool),
            ExprKind::Fold(first, rest) => self.fold(first, rest),
            ExprKind::If(parts) => self.choose(parts),
            ExprKind::Path(base, steps) => self.path(base, steps),
            ExprKind::Has(map, field) => self.has(map, field),
            ExprKind::Call(function, argument) => self.call(*function, argument, expr.span),
        }
    }

    /// Evaluates an expression that must be a bool.
    fn truth(&mut self, expr: &'a Expr) -> Result<bool> {
        match self.eval(expr)? {
            Bool(bool) => Ok(bool),
            other => Err(self.wrong_type(expr.span, &other, "a bool")),
        }
    }

    /// `&&` and `||`: the first part that equals `decides` is the result, even after a part with an error.
    fn any_is(&mut self, parts: &'a [Expr], decides: bool) -> Result<bool> {
        let mut result = Ok(!decides);
        for part in parts {
            match self.truth(part) {
                Ok(found) if found == decides => return Ok(decides),
                Ok(_) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    fn choose(&mut self, [condition, yes, no]: &'a [Expr; 3]) -> Evaluated<'a> {
        let chosen = if self.truth(condition)? { yes } else { no };
        self.eval(chosen)
    }

    fn variable(&self, variable: Variable) -> GuardValue<'a> {
        match variable {
            Variable::Payload => GuardValue::from_json(self.scope.payload),
            Variable::UserId => self.scope.user_id.map_or(GuardValue::Null, |text| Str(Cow::Borrowed(text))),
            Variable::Now => Int(self.scope.now_ms),
            Variable::JobType => Str(Cow::Borrowed(self.scope.job_type)),
            Variable::Queue => Str(Cow::Borrowed(self.scope.queue)),
        }
    }

    fn list(&mut self, elements: &'a [Expr]) -> Evaluated<'a> {
        let elements = elements.iter().map(|element| self.eval(element)).collect::<Result<_, _>>()?;
        Ok(GuardValue::List(ListValue::Literal(elements)))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr)], span: SourceSpan) -> Evaluated<'a> {
        let mut map = MapValue::Literal(Vec::new());
        for (key, value) in entries {
            let found = self.eval(key)?;
            if !matches!(found, Str(_) | Int(_) | Bool(_)) {
                return Err(self.wrong_type(key.span, &found, "a string, an int or a bool"));
            }
            if map.get(&found, &mut self.budget)?.is_some() {
                return Err(GuardError::DuplicateKey { place: self.place(span) });
            }
            let value = self.eval(value)?;
            map.push(found, value);
        }
        Ok(GuardValue::Map(map))
    }

    fn path(&mut self, base: &'a Expr, steps: &'a [PathStep]) -> Evaluated<'a> {
        let mut value = self.eval(base)?;
        let mut span = base.span;
        for step in steps {
            self.budget.spend(1)?;
            let source = self.source;
            let missing = || GuardError::Missing { place: place(source, step.span) };
            value = match &step.access {
                Access::Field(field) => self.field(value, field, span)?.ok_or_else(missing)?,
                Access::Index(index) => self.index(value, index, span)?.ok_or_else(missing)?,
                Access::Size => self.size(&value, span)?,
                Access::StringTest(test, argument) => self.string_test(&value, *test, argument, span)?,
                Access::Matches(pattern) => {
                    let text = self.text(&value, span)?;
                    self.budget.spend(text.len())?;
                    Bool(pattern.is_match(text))
                }
            };
            span = step.span;
        }
        Ok(value)
    }

    /// A field of a value, whose span is `of`; `None` if it is missing.
    fn field(&mut self, base: GuardValue<'a>, field: &'a str, of: SourceSpan) -> Found<'a> {
        let GuardValue::Map(map) = base else { return Err(self.wrong_type(of, &base, "a map")) };
        map.take(&Str(Cow::Borrowed(field)), &mut self.budget)
    }

    fn index(&mut self, base: GuardValue<'a>, index: &'a Expr, of: SourceSpan) -> Found<'a> {
        let key = self.eval(index)?;
        match (base, &key) {
            (GuardValue::Map(map), Str(_) | Int(_) | Bool(_)) => map.take(&key, &mut self.budget),
            (GuardValue::Map(_), _) => Err(self.wrong_type(index.span, &key, "a string, an int or a bool")),
            (GuardValue::List(list), Int(at)) => Ok(usize::try_from(*at).ok().and_then(|at| list.take(at))),
            (GuardValue::List(_), _) => Err(self.wrong_type(index.span, &key, "an int")),
            (other, _) => Err(self.wrong_type(of, &other, "a list or a map")),
        }
    }

    fn has(&mut self, map: &'a Expr, field: &'a str) -> Evaluated<'a> {
        let found = self.eval(map)?;
        let GuardValue::Map(entries) = &found else { return Err(self.wrong_type(map.span, &found, "a map")) };
        let key = Str(Cow::Borrowed(field));
        Ok(Bool(entries.get(&key, &mut self.budget)?.is_some()))
    }

    fn size(&mut self, value: &GuardValue<'a>, span: SourceSpan) -> Evaluated<'a> {
        let size = match value {
            Str(text) => {
                self.budget.spend(text.len())?;
                text.chars().count()
            }
            GuardValue::List(list) => list.len(),
            GuardValue::Map(map) => map.len(),
            other => return Err(self.wrong_type(span, other, "a string, a list or a map")),
        };
        Ok(Int(size as i64))
    }

    fn string_test(
        &mut self,
        value: &GuardValue<'a>,
        test: StringTest,
        argument: &'a Expr,
        span: SourceSpan,
    ) -> Evaluated<'a> {
        let found = self.eval(argument)?;
        let text = self.text(value, span)?;
        let part = self.text(&found, argument.span)?;
        let read = if test == StringTest::Contains { text.len() } else { 0 };
        self.budget.spend(read.saturating_add(part.len()))?;
        Ok(Bool(match test {
            StringTest::StartsWith => text.starts_with(part),
            StringTest::EndsWith => text.ends_with(part),
            StringTest::Contains => text.contains(part),
        }))
    }

    fn call(&mut self, function: Function, argument: &'a Expr, span: SourceSpan) -> Evaluated<'a> {
        let value = self.eval(argument)?;
        match function {
            Function::Size => self.size(&value, argument.span),
            Function::Int => self.int(value, argument.span, span),
            Function::Double => self.double(value, argument.span),
            Function::String => self.string(value, argument.span),
            Function::Type => Ok(GuardValue::Type(value.type_of())),
        }
    }

    fn text<'v>(&self, value: &'v GuardValue<'a>, span: SourceSpan) -> Result<&'v str> {
        match value {
            Str(text) => Ok(text),
            other => Err(self.wrong_type(span, other, "a string")),
        }
    }

    pub(super) fn wrong_type(
        &self,
        at: SourceSpan,
        found: &GuardValue<'_>,
        wanted: &'static str,
    ) -> GuardError {
        GuardError::WrongType { place: self.place(at), found: found.type_name(), wanted }
    }

    pub(super) fn place(&self, span: SourceSpan) -> String {
        place(self.source, span)
    }
}

/// A part of the guard on one line, cut for a message.
fn place(source: &str, span: SourceSpan) -> String {
    let text = &source[span.start..span.end];
    let mut place = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = place.char_indices().nth(PLACE_CHARS_MAX) {
        place.truncate(cut);
        place.push('…');
    }
    place
}
