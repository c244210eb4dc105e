//! A tree and a scope to an answer. Recursion follows the tree, whose depth was bounded when it was parsed; every
//! node is visited at most once and pays for it.

use std::borrow::Cow;

use super::ast::{Act, Expr, Function, Kind, Name, Search, Span, Step};
use super::value::{Budget, List, Map, Value};
use super::{GuardError, Scope};

/// How much of a guard a message quotes.
const PLACE_CHARS_MAX: usize = 60;

/// The guard's answer.
pub(super) fn admits(source: &str, root: &Expr, scope: Scope<'_>) -> Result<bool, GuardError> {
    let mut evaluation = Evaluation { source, scope, budget: Budget::full() };
    evaluation.truth(root)
}

/// One run. What operators and conversions do is in `operate`.
pub(super) struct Evaluation<'a> {
    source: &'a str,
    scope: Scope<'a>,
    pub(super) budget: Budget,
}

impl<'a> Evaluation<'a> {
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Result<Value<'a>, GuardError> {
        self.budget.pay(1)?;
        // No `?` below: in a debug build each takes room on the stack of every level.
        match &expr.kind {
            Kind::Null => Ok(Value::Null),
            Kind::Bool(bool) => Ok(Value::Bool(*bool)),
            Kind::Int(int) => Ok(Value::Int(*int)),
            Kind::Double(double) => Ok(Value::Double(*double)),
            Kind::Str(text) => Ok(Value::Str(Cow::Borrowed(text))),
            Kind::Type(name) => Ok(Value::Type(*name)),
            Kind::Name(name) => Ok(self.name(*name)),
            Kind::List(members) => self.list(members),
            Kind::Map(entries) => self.map(entries, expr.span),
            Kind::Not(operand) => self.truth(operand).map(|bool| Value::Bool(!bool)),
            Kind::Negate(operand) => self.negate(operand, expr.span),
            Kind::All(parts) => self.agree(parts, false).map(Value::Bool),
            Kind::Any(parts) => self.agree(parts, true).map(Value::Bool),
            Kind::Fold(first, rest) => self.fold(first, rest),
            Kind::If(parts) => self.choose(parts),
            Kind::Path(base, steps) => self.path(base, steps),
            Kind::Has(map, field) => self.has(map, field),
            Kind::Call(function, argument) => self.call(*function, argument, expr.span),
        }
    }

    /// A value that must be true or false.
    fn truth(&mut self, expr: &'a Expr) -> Result<bool, GuardError> {
        match self.eval(expr)? {
            Value::Bool(bool) => Ok(bool),
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

    fn choose(&mut self, [condition, yes, no]: &'a [Expr; 3]) -> Result<Value<'a>, GuardError> {
        let chosen = if self.truth(condition)? { yes } else { no };
        self.eval(chosen)
    }

    fn name(&self, name: Name) -> Value<'a> {
        match name {
            Name::Payload => Value::from_json(self.scope.payload),
            Name::UserId => self.scope.user_id.map_or(Value::Null, |text| Value::Str(Cow::Borrowed(text))),
            Name::Now => Value::Int(self.scope.now_ms),
        }
    }

    fn list(&mut self, members: &'a [Expr]) -> Result<Value<'a>, GuardError> {
        let members = members.iter().map(|member| self.eval(member)).collect::<Result<_, _>>()?;
        Ok(Value::List(List::Own(members)))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr)], span: Span) -> Result<Value<'a>, GuardError> {
        let mut made = Map::Own(Vec::new());
        for (key, value) in entries {
            let found = self.eval(key)?;
            if !matches!(found, Value::Str(_) | Value::Int(_) | Value::Bool(_)) {
                return Err(self.unfit(key.span, &found, "a string, an int or a bool"));
            }
            if made.get(&found, &mut self.budget)?.is_some() {
                return Err(GuardError::DuplicateKey { place: self.place(span) });
            }
            let value = self.eval(value)?;
            made.push(found, value);
        }
        Ok(Value::Map(made))
    }

    fn path(&mut self, base: &'a Expr, steps: &'a [Step]) -> Result<Value<'a>, GuardError> {
        let mut value = self.eval(base)?;
        let mut span = base.span;
        for step in steps {
            self.budget.pay(1)?;
            value = match &step.act {
                Act::Field(field) => self.field(value, field, span, step.span)?,
                Act::Index(index) => self.index(value, index, span, step.span)?,
                Act::Size => self.size(&value, span)?,
                Act::Search(search, sought) => self.search(&value, *search, sought, span)?,
                Act::Matches(pattern) => {
                    let text = self.text(&value, span)?;
                    self.budget.pay(text.len())?;
                    Value::Bool(pattern.is_match(text))
                }
            };
            span = step.span;
        }
        Ok(value)
    }

    fn field(
        &mut self,
        base: Value<'a>,
        field: &'a str,
        of: Span,
        all: Span,
    ) -> Result<Value<'a>, GuardError> {
        let Value::Map(map) = base else { return Err(self.unfit(of, &base, "a map")) };
        let key = Value::Str(Cow::Borrowed(field));
        map.take(&key, &mut self.budget)?.ok_or_else(|| GuardError::Missing { place: self.place(all) })
    }

    fn index(
        &mut self,
        base: Value<'a>,
        index: &'a Expr,
        of: Span,
        all: Span,
    ) -> Result<Value<'a>, GuardError> {
        let key = self.eval(index)?;
        let found = match (base, &key) {
            (Value::Map(map), Value::Str(_) | Value::Int(_) | Value::Bool(_)) => {
                map.take(&key, &mut self.budget)?
            }
            (Value::Map(_), _) => return Err(self.unfit(index.span, &key, "a string, an int or a bool")),
            (Value::List(list), Value::Int(at)) => usize::try_from(*at).ok().and_then(|at| list.take(at)),
            (Value::List(_), _) => return Err(self.unfit(index.span, &key, "an int")),
            (other, _) => return Err(self.unfit(of, &other, "a list or a map")),
        };
        found.ok_or_else(|| GuardError::Missing { place: self.place(all) })
    }

    fn has(&mut self, map: &'a Expr, field: &'a str) -> Result<Value<'a>, GuardError> {
        let found = self.eval(map)?;
        let Value::Map(entries) = &found else { return Err(self.unfit(map.span, &found, "a map")) };
        let key = Value::Str(Cow::Borrowed(field));
        Ok(Value::Bool(entries.get(&key, &mut self.budget)?.is_some()))
    }

    fn size(&mut self, value: &Value<'a>, span: Span) -> Result<Value<'a>, GuardError> {
        let size = match value {
            Value::Str(text) => {
                self.budget.pay(text.len())?;
                text.chars().count()
            }
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            other => return Err(self.unfit(span, other, "a string, a list or a map")),
        };
        Ok(Value::Int(size as i64))
    }

    fn search(
        &mut self,
        value: &Value<'a>,
        search: Search,
        sought: &'a Expr,
        span: Span,
    ) -> Result<Value<'a>, GuardError> {
        let found = self.eval(sought)?;
        let text = self.text(value, span)?;
        let part = self.text(&found, sought.span)?;
        let answer = match search {
            Search::StartsWith => {
                self.budget.pay(part.len())?;
                text.starts_with(part)
            }
            Search::EndsWith => {
                self.budget.pay(part.len())?;
                text.ends_with(part)
            }
            Search::Contains => {
                self.budget.pay(text.len().saturating_add(part.len()))?;
                text.contains(part)
            }
        };
        Ok(Value::Bool(answer))
    }

    fn call(&mut self, function: Function, argument: &'a Expr, span: Span) -> Result<Value<'a>, GuardError> {
        let value = self.eval(argument)?;
        match function {
            Function::Size => self.size(&value, argument.span),
            Function::Int => self.read_int(value, argument.span, span),
            Function::Double => self.read_double(value, argument.span),
            Function::String => self.read_string(value, argument.span),
            Function::Type => Ok(Value::Type(value.type_of())),
        }
    }

    fn text<'v>(&self, value: &'v Value<'a>, span: Span) -> Result<&'v str, GuardError> {
        match value {
            Value::Str(text) => Ok(text),
            other => Err(self.unfit(span, other, "a string")),
        }
    }

    pub(super) fn unfit(&self, span: Span, found: &Value<'_>, wanted: &'static str) -> GuardError {
        GuardError::Kind { place: self.place(span), found: found.kind(), wanted }
    }

    /// A part of the guard on one line, for a message.
    pub(super) fn place(&self, span: Span) -> String {
        let text = &self.source[span.start..span.end];
        let mut place = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((cut, _)) = place.char_indices().nth(PLACE_CHARS_MAX) {
            place.truncate(cut);
            place.push('…');
        }
        place
    }
}
