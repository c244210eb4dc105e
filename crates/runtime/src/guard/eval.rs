//! A tree and a scope to an answer. Recursion follows the tree, whose depth was bounded when it was parsed; every
//! node is visited at most once and pays for it.

use std::borrow::Cow;

use super::ast::{Access, Expr, Function, ExprKind, Variable, StringTest, SourceSpan, PathStep};
use super::value::{Budget, ListValue, MapValue, GuardValue};
use super::{GuardError, GuardInput};

/// How much of a guard a message quotes.
const PLACE_CHARS_MAX: usize = 60;

/// The guard's answer.
pub(super) fn admits(source: &str, root: &Expr, scope: GuardInput<'_>) -> Result<bool, GuardError> {
    let mut evaluation = Evaluator { source, scope, budget: Budget::full() };
    evaluation.truth(root)
}

/// One run. What operators and conversions do is in `operate`.
pub(super) struct Evaluator<'a> {
    source: &'a str,
    scope: GuardInput<'a>,
    pub(super) budget: Budget,
}

impl<'a> Evaluator<'a> {
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Result<GuardValue<'a>, GuardError> {
        self.budget.pay(1)?;
        // No `?` below: in a debug build each takes room on the stack of every level.
        match &expr.kind {
            ExprKind::Null => Ok(GuardValue::Null),
            ExprKind::Bool(bool) => Ok(GuardValue::Bool(*bool)),
            ExprKind::Int(int) => Ok(GuardValue::Int(*int)),
            ExprKind::Double(double) => Ok(GuardValue::Double(*double)),
            ExprKind::Str(text) => Ok(GuardValue::Str(Cow::Borrowed(text))),
            ExprKind::Type(name) => Ok(GuardValue::Type(*name)),
            ExprKind::Name(name) => Ok(self.name(*name)),
            ExprKind::List(members) => self.list(members),
            ExprKind::Map(entries) => self.map(entries, expr.span),
            ExprKind::Not(operand) => self.truth(operand).map(|bool| GuardValue::Bool(!bool)),
            ExprKind::Negate(operand) => self.negate(operand, expr.span),
            ExprKind::All(parts) => self.agree(parts, false).map(GuardValue::Bool),
            ExprKind::Any(parts) => self.agree(parts, true).map(GuardValue::Bool),
            ExprKind::Fold(first, rest) => self.fold(first, rest),
            ExprKind::If(parts) => self.choose(parts),
            ExprKind::Path(base, steps) => self.path(base, steps),
            ExprKind::Has(map, field) => self.has(map, field),
            ExprKind::Call(function, argument) => self.call(*function, argument, expr.span),
        }
    }

    /// A value that must be true or false.
    fn truth(&mut self, expr: &'a Expr) -> Result<bool, GuardError> {
        match self.eval(expr)? {
            GuardValue::Bool(bool) => Ok(bool),
            other => Err(self.unfit(expr.span, &other, "true or false")),
        }
    }

    /// `&&` and `||`: the first part that decides is the answer, even after a part that went wrong.
    fn agree(&mut self, parts: &'a [Expr], decides: bool) -> Result<bool, GuardError> {
        let mut answer = Ok(!decides);
        for part in parts {
            match self.truth(part) {
                Ok(found) if found == decides => return Ok(decides),
                Ok(_) => {}
                Err(error) => answer = answer.and(Err(error)),
            }
        }
        answer
    }

    fn choose(&mut self, [condition, yes, no]: &'a [Expr; 3]) -> Result<GuardValue<'a>, GuardError> {
        let chosen = if self.truth(condition)? { yes } else { no };
        self.eval(chosen)
    }

    fn name(&self, name: Variable) -> GuardValue<'a> {
        match name {
            Variable::Payload => GuardValue::from_json(self.scope.payload),
            Variable::UserId => self.scope.user_id.map_or(GuardValue::Null, |text| GuardValue::Str(Cow::Borrowed(text))),
            Variable::Now => GuardValue::Int(self.scope.now_ms),
        }
    }

    fn list(&mut self, members: &'a [Expr]) -> Result<GuardValue<'a>, GuardError> {
        let members = members.iter().map(|member| self.eval(member)).collect::<Result<_, _>>()?;
        Ok(GuardValue::List(ListValue::Literal(members)))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr)], span: SourceSpan) -> Result<GuardValue<'a>, GuardError> {
        let mut made = MapValue::Literal(Vec::new());
        for (key, value) in entries {
            let found = self.eval(key)?;
            if !matches!(found, GuardValue::Str(_) | GuardValue::Int(_) | GuardValue::Bool(_)) {
                return Err(self.unfit(key.span, &found, "a string, an int or a bool"));
            }
            if made.get(&found, &mut self.budget)?.is_some() {
                return Err(GuardError::DuplicateKey { place: self.place(span) });
            }
            let value = self.eval(value)?;
            made.push(found, value);
        }
        Ok(GuardValue::Map(made))
    }

    fn path(&mut self, base: &'a Expr, steps: &'a [PathStep]) -> Result<GuardValue<'a>, GuardError> {
        let mut value = self.eval(base)?;
        let mut span = base.span;
        for step in steps {
            self.budget.pay(1)?;
            value = match &step.access {
                Access::Field(field) => self.field(value, field, span, step.span)?,
                Access::Index(index) => self.index(value, index, span, step.span)?,
                Access::Size => self.size(&value, span)?,
                Access::StringTest(search, sought) => self.search(&value, *search, sought, span)?,
                Access::Matches(pattern) => {
                    let text = self.text(&value, span)?;
                    self.budget.pay(text.len())?;
                    GuardValue::Bool(pattern.is_match(text))
                }
            };
            span = step.span;
        }
        Ok(value)
    }

    fn field(
        &mut self,
        base: GuardValue<'a>,
        field: &'a str,
        of: SourceSpan,
        all: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        let GuardValue::Map(map) = base else { return Err(self.unfit(of, &base, "a map")) };
        let key = GuardValue::Str(Cow::Borrowed(field));
        map.take(&key, &mut self.budget)?.ok_or_else(|| GuardError::Missing { place: self.place(all) })
    }

    fn index(
        &mut self,
        base: GuardValue<'a>,
        index: &'a Expr,
        of: SourceSpan,
        all: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        let key = self.eval(index)?;
        let found = match (base, &key) {
            (GuardValue::Map(map), GuardValue::Str(_) | GuardValue::Int(_) | GuardValue::Bool(_)) => {
                map.take(&key, &mut self.budget)?
            }
            (GuardValue::Map(_), _) => return Err(self.unfit(index.span, &key, "a string, an int or a bool")),
            (GuardValue::List(list), GuardValue::Int(at)) => usize::try_from(*at).ok().and_then(|at| list.take(at)),
            (GuardValue::List(_), _) => return Err(self.unfit(index.span, &key, "an int")),
            (other, _) => return Err(self.unfit(of, &other, "a list or a map")),
        };
        found.ok_or_else(|| GuardError::Missing { place: self.place(all) })
    }

    fn has(&mut self, map: &'a Expr, field: &'a str) -> Result<GuardValue<'a>, GuardError> {
        let found = self.eval(map)?;
        let GuardValue::Map(entries) = &found else { return Err(self.unfit(map.span, &found, "a map")) };
        let key = GuardValue::Str(Cow::Borrowed(field));
        Ok(GuardValue::Bool(entries.get(&key, &mut self.budget)?.is_some()))
    }

    fn size(&mut self, value: &GuardValue<'a>, span: SourceSpan) -> Result<GuardValue<'a>, GuardError> {
        let size = match value {
            GuardValue::Str(text) => {
                self.budget.pay(text.len())?;
                text.chars().count()
            }
            GuardValue::List(list) => list.len(),
            GuardValue::Map(map) => map.len(),
            other => return Err(self.unfit(span, other, "a string, a list or a map")),
        };
        Ok(GuardValue::Int(size as i64))
    }

    fn search(
        &mut self,
        value: &GuardValue<'a>,
        search: StringTest,
        sought: &'a Expr,
        span: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        let found = self.eval(sought)?;
        let text = self.text(value, span)?;
        let part = self.text(&found, sought.span)?;
        let answer = match search {
            StringTest::StartsWith => {
                self.budget.pay(part.len())?;
                text.starts_with(part)
            }
            StringTest::EndsWith => {
                self.budget.pay(part.len())?;
                text.ends_with(part)
            }
            StringTest::Contains => {
                self.budget.pay(text.len().saturating_add(part.len()))?;
                text.contains(part)
            }
        };
        Ok(GuardValue::Bool(answer))
    }

    fn call(&mut self, function: Function, argument: &'a Expr, span: SourceSpan) -> Result<GuardValue<'a>, GuardError> {
        let value = self.eval(argument)?;
        match function {
            Function::Size => self.size(&value, argument.span),
            Function::Int => self.read_int(value, argument.span, span),
            Function::Double => self.read_double(value, argument.span),
            Function::String => self.read_string(value, argument.span),
            Function::Type => Ok(GuardValue::Type(value.type_of())),
        }
    }

    fn text<'v>(&self, value: &'v GuardValue<'a>, span: SourceSpan) -> Result<&'v str, GuardError> {
        match value {
            GuardValue::Str(text) => Ok(text),
            other => Err(self.unfit(span, other, "a string")),
        }
    }

    pub(super) fn unfit(&self, span: SourceSpan, found: &GuardValue<'_>, wanted: &'static str) -> GuardError {
        GuardError::WrongType { place: self.place(span), found: found.kind(), wanted }
    }

    /// A part of the guard on one line, for a message.
    pub(super) fn place(&self, span: SourceSpan) -> String {
        let text = &self.source[span.start..span.end];
        let mut place = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((cut, _)) = place.char_indices().nth(PLACE_CHARS_MAX) {
            place.truncate(cut);
            place.push('…');
        }
        place
    }
}
