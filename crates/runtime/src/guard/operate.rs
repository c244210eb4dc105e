//! Operators and conversions, as CEL has them. Ints are checked, and kinds are not mixed: `1 + 1.5` is an error,
//! because whoever wrote it has to say which kind of number is meant.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::GuardError;
use super::ast::{Expr, Operator, Span};
use super::eval::Evaluation;
use super::value::{Value, equal, order};

impl<'a> Evaluation<'a> {
    /// A chain of operators, from left to right.
    pub(super) fn fold(
        &mut self,
        first: &'a Expr,
        rest: &'a [(Operator, Expr)],
    ) -> Result<Value<'a>, GuardError> {
        let mut left = self.eval(first)?;
        for (operator, operand) in rest {
            let right = self.eval(operand)?;
            left = self.operate(*operator, left, right, first.span.to(operand.span))?;
        }
        Ok(left)
    }

    pub(super) fn negate(&mut self, operand: &'a Expr, span: Span) -> Result<Value<'a>, GuardError> {
        match self.eval(operand)? {
            Value::Int(int) => {
                let negated = int.checked_neg();
                negated.map(Value::Int).ok_or_else(|| GuardError::Overflow { place: self.place(span) })
            }
            Value::Double(double) => Ok(Value::Double(-double)),
            other => Err(self.unfit(operand.span, &other, "a number")),
        }
    }

    fn operate(
        &mut self,
        operator: Operator,
        left: Value<'a>,
        right: Value<'a>,
        span: Span,
    ) -> Result<Value<'a>, GuardError> {
        match operator {
            Operator::Equal => Ok(Value::Bool(equal(&left, &right, &mut self.budget)?)),
            Operator::NotEqual => Ok(Value::Bool(!equal(&left, &right, &mut self.budget)?)),
            Operator::Less => self.compare(operator, &left, &right, span, Ordering::is_lt),
            Operator::LessOrEqual => self.compare(operator, &left, &right, span, Ordering::is_le),
            Operator::Greater => self.compare(operator, &left, &right, span, Ordering::is_gt),
            Operator::GreaterOrEqual => self.compare(operator, &left, &right, span, Ordering::is_ge),
            Operator::In => self.find(&left, &right, span),
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Remainder => self.calculate(operator, left, right, span),
        }
    }

    fn compare(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
        span: Span,
        holds: fn(Ordering) -> bool,
    ) -> Result<Value<'a>, GuardError> {
        match (order(left, right, &mut self.budget)?, left, right) {
            (Some(ordering), _, _) => Ok(Value::Bool(holds(ordering))),
            // Only NaN gets here, and it is neither less nor more.
            (None, Value::Int(_) | Value::Double(_), Value::Int(_) | Value::Double(_)) => {
                Ok(Value::Bool(false))
            }
            (None, _, _) => Err(self.operands(operator, left, right, span)),
        }
    }

    fn find(&mut self, sought: &Value<'a>, place: &Value<'a>, span: Span) -> Result<Value<'a>, GuardError> {
        match place {
            Value::List(list) => Ok(Value::Bool(list.holds(sought, &mut self.budget)?)),
            Value::Map(map) => Ok(Value::Bool(map.get(sought, &mut self.budget)?.is_some())),
            _ => Err(self.operands(Operator::In, sought, place, span)),
        }
    }

    fn calculate(
        &mut self,
        operator: Operator,
        left: Value<'a>,
        right: Value<'a>,
        span: Span,
    ) -> Result<Value<'a>, GuardError> {
        match (operator, left, right) {
            (_, Value::Int(a), Value::Int(b)) => self.calculate_ints(operator, a, b, span),
            (Operator::Add, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
            (Operator::Subtract, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
            (Operator::Multiply, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
            (Operator::Divide, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
            (Operator::Add, Value::Str(a), Value::Str(b)) => {
                self.budget.pay(a.len().saturating_add(b.len()))?;
                Ok(Value::Str(Cow::Owned(a.into_owned() + &b)))
            }
            (Operator::Add, Value::List(a), Value::List(b)) => Ok(Value::List(a.join(b, &mut self.budget)?)),
            (_, left, right) => Err(self.operands(operator, &left, &right, span)),
        }
    }

    fn calculate_ints(
        &self,
        operator: Operator,
        a: i64,
        b: i64,
        span: Span,
    ) -> Result<Value<'a>, GuardError> {
        let divides = matches!(operator, Operator::Divide | Operator::Remainder);
        if divides && b == 0 {
            return Err(GuardError::DivisionByZero { place: self.place(span) });
        }
        let result = match operator {
            Operator::Add => a.checked_add(b),
            Operator::Subtract => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::Divide => a.checked_div(b),
            Operator::Remainder => a.checked_rem(b),
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual
            | Operator::In => unreachable!("`{}` does not calculate", operator.as_str()),
        };
        result.map(Value::Int).ok_or_else(|| GuardError::Overflow { place: self.place(span) })
    }

    /// `int(x)`: a double loses its fraction, towards zero.
    pub(super) fn read_int(
        &mut self,
        value: Value<'a>,
        of: Span,
        all: Span,
    ) -> Result<Value<'a>, GuardError> {
        const BEYOND: f64 = 9_223_372_036_854_775_808.0;
        match value {
            Value::Int(int) => Ok(Value::Int(int)),
            Value::Double(double) if (-BEYOND..BEYOND).contains(&double) => Ok(Value::Int(double as i64)),
            Value::Double(_) => Err(GuardError::Overflow { place: self.place(all) }),
            Value::Str(text) => {
                self.budget.pay(text.len())?;
                let int = text.parse().map(Value::Int);
                int.map_err(|_| GuardError::Conversion { place: self.place(of), wanted: "an int" })
            }
            other => Err(self.unfit(of, &other, "a number or a string")),
        }
    }

    /// `double(x)`.
    pub(super) fn read_double(&mut self, value: Value<'a>, of: Span) -> Result<Value<'a>, GuardError> {
        match value {
            Value::Int(int) => Ok(Value::Double(int as f64)),
            Value::Double(double) => Ok(Value::Double(double)),
            Value::Str(text) => {
                self.budget.pay(text.len())?;
                let double = text.parse().map(Value::Double);
                double.map_err(|_| GuardError::Conversion { place: self.place(of), wanted: "a double" })
            }
            other => Err(self.unfit(of, &other, "a number or a string")),
        }
    }

    /// `string(x)`.
    pub(super) fn read_string(&mut self, value: Value<'a>, of: Span) -> Result<Value<'a>, GuardError> {
        let text = match value {
            Value::Str(text) => text,
            Value::Bool(bool) => Cow::Borrowed(if bool { "true" } else { "false" }),
            Value::Int(int) => Cow::Owned(int.to_string()),
            Value::Double(double) => Cow::Owned(double.to_string()),
            other => return Err(self.unfit(of, &other, "a string, a number or a bool")),
        };
        self.budget.pay(text.len())?;
        Ok(Value::Str(text))
    }

    fn operands(&self, operator: Operator, left: &Value<'_>, right: &Value<'_>, span: Span) -> GuardError {
        GuardError::Operands {
            place: self.place(span),
            operator: operator.as_str(),
            left: left.kind(),
            right: right.kind(),
        }
    }
}
