//! Operators and conversions, with the semantics of CEL. Integer overflow is an error, and types are not mixed:
//! `1 + 1.5` is an error, to be written with an explicit conversion.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::str::FromStr;

use super::ast::{Expr, Operator, SourceSpan};
use super::eval::{Evaluated, Evaluator};
use super::value::BEYOND_INTS;
use super::value::GuardValue::{self, Bool, Double, Int, List, Map, Str};
use super::{GuardError, Result};

/// An operator and where it is applied, for messages.
#[derive(Clone, Copy)]
struct Operation {
    operator: Operator,
    span: SourceSpan,
}

impl<'a> Evaluator<'a> {
    /// A chain of operators, from left to right.
    pub(super) fn fold(&mut self, first: &'a Expr, rest: &'a [(Operator, Expr)]) -> Evaluated<'a> {
        let mut left = self.eval(first)?;
        for (operator, operand) in rest {
            let right = self.eval(operand)?;
            let operation = Operation { operator: *operator, span: first.span.to(operand.span) };
            left = self.operate(operation, left, right)?;
        }
        Ok(left)
    }

    pub(super) fn negate(&mut self, operand: &'a Expr, span: SourceSpan) -> Evaluated<'a> {
        match self.eval(operand)? {
            Int(int) => int.checked_neg().map(Int).ok_or_else(|| self.overflow(span)),
            Double(double) => Ok(Double(-double)),
            other => Err(self.wrong_type(operand.span, &other, "a number")),
        }
    }

    fn operate(
        &mut self,
        operation: Operation,
        left: GuardValue<'a>,
        right: GuardValue<'a>,
    ) -> Evaluated<'a> {
        match (operation.operator, left, right) {
            (Operator::Equal, left, right) => self.budget.equal(&left, &right).map(Bool),
            (Operator::NotEqual, left, right) => self.budget.equal(&left, &right).map(|equal| Bool(!equal)),
            (Operator::Less, left, right) => self.compare(operation, &left, &right, Ordering::is_lt),
            (Operator::LessOrEqual, left, right) => self.compare(operation, &left, &right, Ordering::is_le),
            (Operator::Greater, left, right) => self.compare(operation, &left, &right, Ordering::is_gt),
            (Operator::GreaterOrEqual, left, right) => {
                self.compare(operation, &left, &right, Ordering::is_ge)
            }
            (Operator::In, sought, List(list)) => list.contains(&sought, &mut self.budget).map(Bool),
            (Operator::In, key, Map(map)) => Ok(Bool(map.get(&key, &mut self.budget)?.is_some())),
            (Operator::In, left, right) => Err(self.operands(operation, &left, &right)),
            (_, Int(a), Int(b)) => self.calculate_ints(operation, a, b),
            (Operator::Add, Double(a), Double(b)) => Ok(Double(a + b)),
            (Operator::Subtract, Double(a), Double(b)) => Ok(Double(a - b)),
            (Operator::Multiply, Double(a), Double(b)) => Ok(Double(a * b)),
            (Operator::Divide, Double(a), Double(b)) => Ok(Double(a / b)),
            (Operator::Add, Str(a), Str(b)) => {
                self.budget.spend(a.len().saturating_add(b.len()))?;
                Ok(Str(Cow::Owned(a.into_owned() + &b)))
            }
            (Operator::Add, List(a), List(b)) => a.concat(b, &mut self.budget).map(List),
            (_, left, right) => Err(self.operands(operation, &left, &right)),
        }
    }

    fn compare(
        &mut self,
        operation: Operation,
        left: &GuardValue<'a>,
        right: &GuardValue<'a>,
        holds: fn(Ordering) -> bool,
    ) -> Evaluated<'a> {
        match (self.budget.order(left, right)?, left, right) {
            (Some(ordering), _, _) => Ok(Bool(holds(ordering))),
            // NaN, which is neither less nor greater than any number.
            (None, Int(_) | Double(_), Int(_) | Double(_)) => Ok(Bool(false)),
            (None, _, _) => Err(self.operands(operation, left, right)),
        }
    }

    fn calculate_ints(&self, Operation { operator, span }: Operation, a: i64, b: i64) -> Evaluated<'a> {
        if b == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
            return Err(GuardError::DivisionByZero { place: self.place(span) });
        }
        let result = match operator {
            Operator::Add => a.checked_add(b),
            Operator::Subtract => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::Divide => a.checked_div(b),
            Operator::Remainder => a.checked_rem(b),
            _ => unreachable!("`{}` is not arithmetic", operator.as_str()),
        };
        result.map(Int).ok_or_else(|| self.overflow(span))
    }

    /// `int(x)`: a double is truncated towards zero.
    pub(super) fn int(&mut self, value: GuardValue<'a>, of: SourceSpan, all: SourceSpan) -> Evaluated<'a> {
        match value {
            Int(int) => Ok(Int(int)),
            Double(double) if (-BEYOND_INTS..BEYOND_INTS).contains(&double) => Ok(Int(double as i64)),
            Double(_) => Err(self.overflow(all)),
            Str(text) => self.parse(&text, of, "an int").map(Int),
            other => Err(self.wrong_type(of, &other, "a number or a string")),
        }
    }

    /// `double(x)`.
    pub(super) fn double(&mut self, value: GuardValue<'a>, of: SourceSpan) -> Evaluated<'a> {
        match value {
            Int(int) => Ok(Double(int as f64)),
            Double(double) => Ok(Double(double)),
            Str(text) => self.parse(&text, of, "a double").map(Double),
            other => Err(self.wrong_type(of, &other, "a number or a string")),
        }
    }

    fn parse<T: FromStr>(&mut self, text: &str, of: SourceSpan, wanted: &'static str) -> Result<T> {
        self.budget.spend(text.len())?;
        text.parse().map_err(|_| GuardError::Conversion { place: self.place(of), wanted })
    }

    /// `string(x)`.
    pub(super) fn string(&mut self, value: GuardValue<'a>, of: SourceSpan) -> Evaluated<'a> {
        let text = match value {
            Str(text) => text,
            Bool(bool) => Cow::Borrowed(if bool { "true" } else { "false" }),
            Int(int) => Cow::Owned(int.to_string()),
            Double(double) => Cow::Owned(double.to_string()),
            other => return Err(self.wrong_type(of, &other, "a string, a number or a bool")),
        };
        self.budget.spend(text.len())?;
        Ok(Str(text))
    }

    fn operands(&self, operation: Operation, left: &GuardValue<'_>, right: &GuardValue<'_>) -> GuardError {
        let Operation { operator, span } = operation;
        let (left, right) = (left.type_name(), right.type_name());
        GuardError::Operands { place: self.place(span), operator: operator.as_str(), left, right }
    }

    fn overflow(&self, span: SourceSpan) -> GuardError {
        GuardError::Overflow { place: self.place(span) }
    }
}
