//! Operators and conversions, with the semantics of CEL. Integer overflow is an error, and types are not mixed:
//! `1 + 1.5` is an error, to be written with an explicit conversion.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::GuardError;
use super::ast::{Expr, Operator, SourceSpan};
use super::eval::Evaluator;
use super::value::{GuardValue, equal, order};

impl<'a> Evaluator<'a> {
    /// A chain of operators, from left to right.
    pub(super) fn fold(
        &mut self,
        first: &'a Expr,
        rest: &'a [(Operator, Expr)],
    ) -> Result<GuardValue<'a>, GuardError> {
        let mut left = self.eval(first)?;
        for (operator, operand) in rest {
            let right = self.eval(operand)?;
            left = self.operate(*operator, left, right, first.span.to(operand.span))?;
        }
        Ok(left)
    }

    pub(super) fn negate(
        &mut self,
        operand: &'a Expr,
        span: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        match self.eval(operand)? {
            GuardValue::Int(int) => {
                let negated = int.checked_neg();
                negated.map(GuardValue::Int).ok_or_else(|| GuardError::Overflow { place: self.place(span) })
            }
            GuardValue::Double(double) => Ok(GuardValue::Double(-double)),
            other => Err(self.wrong_type(operand.span, &other, "a number")),
        }
    }

    fn operate(
        &mut self,
        operator: Operator,
        left: GuardValue<'a>,
        right: GuardValue<'a>,
        span: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        match operator {
            Operator::Equal => Ok(GuardValue::Bool(equal(&left, &right, &mut self.budget)?)),
            Operator::NotEqual => Ok(GuardValue::Bool(!equal(&left, &right, &mut self.budget)?)),
            Operator::Less => self.compare(operator, &left, &right, span, Ordering::is_lt),
            Operator::LessOrEqual => self.compare(operator, &left, &right, span, Ordering::is_le),
            Operator::Greater => self.compare(operator, &left, &right, span, Ordering::is_gt),
            Operator::GreaterOrEqual => self.compare(operator, &left, &right, span, Ordering::is_ge),
            Operator::In => self.is_in(&left, &right, span),
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
        left: &GuardValue<'a>,
        right: &GuardValue<'a>,
        span: SourceSpan,
        holds: fn(Ordering) -> bool,
    ) -> Result<GuardValue<'a>, GuardError> {
        match (order(left, right, &mut self.budget)?, left, right) {
            (Some(ordering), _, _) => Ok(GuardValue::Bool(holds(ordering))),
            // NaN, which is neither less nor greater than any number.
            (
                None,
                GuardValue::Int(_) | GuardValue::Double(_),
                GuardValue::Int(_) | GuardValue::Double(_),
            ) => Ok(GuardValue::Bool(false)),
            (None, _, _) => Err(self.operands(operator, left, right, span)),
        }
    }

    fn is_in(
        &mut self,
        sought: &GuardValue<'a>,
        container: &GuardValue<'a>,
        span: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        match container {
            GuardValue::List(list) => Ok(GuardValue::Bool(list.contains(sought, &mut self.budget)?)),
            GuardValue::Map(map) => Ok(GuardValue::Bool(map.get(sought, &mut self.budget)?.is_some())),
            _ => Err(self.operands(Operator::In, sought, container, span)),
        }
    }

    fn calculate(
        &mut self,
        operator: Operator,
        left: GuardValue<'a>,
        right: GuardValue<'a>,
        span: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        match (operator, left, right) {
            (_, GuardValue::Int(a), GuardValue::Int(b)) => self.calculate_ints(operator, a, b, span),
            (Operator::Add, GuardValue::Double(a), GuardValue::Double(b)) => Ok(GuardValue::Double(a + b)),
            (Operator::Subtract, GuardValue::Double(a), GuardValue::Double(b)) => {
                Ok(GuardValue::Double(a - b))
            }
            (Operator::Multiply, GuardValue::Double(a), GuardValue::Double(b)) => {
                Ok(GuardValue::Double(a * b))
            }
            (Operator::Divide, GuardValue::Double(a), GuardValue::Double(b)) => Ok(GuardValue::Double(a / b)),
            (Operator::Add, GuardValue::Str(a), GuardValue::Str(b)) => {
                self.budget.spend(a.len().saturating_add(b.len()))?;
                Ok(GuardValue::Str(Cow::Owned(a.into_owned() + &b)))
            }
            (Operator::Add, GuardValue::List(a), GuardValue::List(b)) => {
                Ok(GuardValue::List(a.concat(b, &mut self.budget)?))
            }
            (_, left, right) => Err(self.operands(operator, &left, &right, span)),
        }
    }

    fn calculate_ints(
        &self,
        operator: Operator,
        a: i64,
        b: i64,
        span: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
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
            | Operator::In => unreachable!("`{}` is not arithmetic", operator.as_str()),
        };
        result.map(GuardValue::Int).ok_or_else(|| GuardError::Overflow { place: self.place(span) })
    }

    /// `int(x)`: a double is truncated towards zero.
    pub(super) fn convert_to_int(
        &mut self,
        value: GuardValue<'a>,
        of: SourceSpan,
        all: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        const BEYOND: f64 = 9_223_372_036_854_775_808.0;
        match value {
            GuardValue::Int(int) => Ok(GuardValue::Int(int)),
            GuardValue::Double(double) if (-BEYOND..BEYOND).contains(&double) => {
                Ok(GuardValue::Int(double as i64))
            }
            GuardValue::Double(_) => Err(GuardError::Overflow { place: self.place(all) }),
            GuardValue::Str(text) => {
                self.budget.spend(text.len())?;
                let int = text.parse().map(GuardValue::Int);
                int.map_err(|_| GuardError::Conversion { place: self.place(of), wanted: "an int" })
            }
            other => Err(self.wrong_type(of, &other, "a number or a string")),
        }
    }

    /// `double(x)`.
    pub(super) fn convert_to_double(
        &mut self,
        value: GuardValue<'a>,
        of: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        match value {
            GuardValue::Int(int) => Ok(GuardValue::Double(int as f64)),
            GuardValue::Double(double) => Ok(GuardValue::Double(double)),
            GuardValue::Str(text) => {
                self.budget.spend(text.len())?;
                let double = text.parse().map(GuardValue::Double);
                double.map_err(|_| GuardError::Conversion { place: self.place(of), wanted: "a double" })
            }
            other => Err(self.wrong_type(of, &other, "a number or a string")),
        }
    }

    /// `string(x)`.
    pub(super) fn convert_to_text(
        &mut self,
        value: GuardValue<'a>,
        of: SourceSpan,
    ) -> Result<GuardValue<'a>, GuardError> {
        let text = match value {
            GuardValue::Str(text) => text,
            GuardValue::Bool(bool) => Cow::Borrowed(if bool { "true" } else { "false" }),
            GuardValue::Int(int) => Cow::Owned(int.to_string()),
            GuardValue::Double(double) => Cow::Owned(double.to_string()),
            other => return Err(self.wrong_type(of, &other, "a string, a number or a bool")),
        };
        self.budget.spend(text.len())?;
        Ok(GuardValue::Str(text))
    }

    fn operands(
        &self,
        operator: Operator,
        left: &GuardValue<'_>,
        right: &GuardValue<'_>,
        span: SourceSpan,
    ) -> GuardError {
        GuardError::Operands {
            place: self.place(span),
            operator: operator.as_str(),
            left: left.type_name(),
            right: right.type_name(),
        }
    }
}
