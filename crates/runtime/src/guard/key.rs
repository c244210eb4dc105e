//! Key expressions of flow control: the same language over `payload`, `user_id`, `type` and `queue`, whose value is a text.

use super::value::GuardValue;
use super::{GuardError, GuardFlaw, Scope, ast, eval, flaw, parse};

/// The length of a key.
pub const KEY_BYTES_MAX: usize = 200;

/// A checked key expression.
#[derive(Clone, Debug)]
pub struct KeyExpression {
    source: String,
    root: ast::Expr,
}

/// The variables of a key expression.
#[derive(Clone, Copy, Debug)]
pub struct KeyInput<'a> {
    pub payload: &'a serde_json::Value,
    /// Null in the expression if there is none.
    pub user_id: Option<&'a str>,
    pub job_type: &'a str,
    pub queue: &'a str,
}

/// Why an expression has no usable value for a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error(transparent)]
    Evaluation(#[from] GuardError),
    #[error("the key {key} is {found}, not a string, number or bool")]
    WrongType { key: String, found: &'static str },
    #[error("the key {key} has more than {KEY_BYTES_MAX} bytes")]
    TooLong { key: String },
}

impl KeyExpression {
    pub fn parse(source: &str) -> Result<Self, GuardFlaw> {
        let root = parse::parse_key(source)?;
        if matches!(root.kind, ast::ExprKind::List(_) | ast::ExprKind::Map(_) | ast::ExprKind::Type(_)) {
            return Err(flaw(root.span, "a key must be a string, number or bool", None));
        }
        Ok(Self { source: source.to_owned(), root })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// The key of a job as text. `None` if it is null, or needs a field that the job does not have.
    pub fn value(&self, input: &KeyInput<'_>) -> Result<Option<String>, KeyError> {
        let scope = Scope {
            payload: input.payload,
            user_id: input.user_id,
            now_ms: 0,
            job_type: input.job_type,
            queue: input.queue,
        };
        let key = || self.source.clone();
        let text = match eval::value(&self.source, &self.root, scope) {
            Ok(GuardValue::Null) | Err(GuardError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
            Ok(GuardValue::Str(text)) => text.into_owned(),
            Ok(GuardValue::Int(number)) => number.to_string(),
            Ok(GuardValue::Double(number)) => number_text(number),
            Ok(GuardValue::Bool(truth)) => truth.to_string(),
            Ok(other) => return Err(KeyError::WrongType { key: key(), found: other.type_name() }),
        };
        if text.len() > KEY_BYTES_MAX {
            return Err(KeyError::TooLong { key: key() });
        }
        Ok(Some(text))
    }
}

/// A number as JSON text, a whole one without a point.
fn number_text(number: f64) -> String {
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= WHOLE_MAX {
        return (number as i64).to_string();
    }
    serde_json::Number::from_f64(number).map_or_else(|| number.to_string(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(source: &str) -> Result<Option<String>, KeyError> {
        let payload = json!({ "text": "a", "empty": "", "int": 7, "whole": 7.0, "half": 0.5, "yes": true,
            "null": null, "list": [], "long": "x".repeat(201), "most": "x".repeat(200), "small": 1e-7 });
        let input = KeyInput { payload: &payload, user_id: None, job_type: "import", queue: "low" };
        KeyExpression::parse(source).expect("it is valid").value(&input)
    }

    #[test]
    fn a_key_is_the_text_of_a_string_number_or_bool() {
        for (source, expected) in [
            ("payload.text", "a"),
            ("payload.empty", ""),
            ("payload.int", "7"),
            ("payload.whole", "7"),
            ("payload.half", "0.5"),
            ("payload.small", "1e-7"),
            ("payload.yes", "true"),
            ("type", "import"),
            ("queue + '/' + payload.text", "low/a"),
            ("'7'", "7"),
        ] {
            assert_eq!(key(source), Ok(Some(expected.to_owned())), "{source}");
        }
        assert_eq!(key("payload.most").unwrap().unwrap().len(), 200);
    }

    #[test]
    fn null_and_a_missing_field_put_the_job_outside_the_rule() {
        for source in ["payload[\"null\"]", "payload.absent", "payload.absent.below", "user_id", "null"] {
            assert_eq!(key(source), Ok(None), "{source}");
        }
    }

    #[test]
    fn any_other_value_is_an_error() {
        assert!(matches!(key("payload.list"), Err(KeyError::WrongType { found: "a list", .. })));
        assert!(matches!(key("payload"), Err(KeyError::WrongType { found: "a map", .. })));
        assert!(matches!(key("payload.long"), Err(KeyError::TooLong { .. })));
        assert!(matches!(key("payload.int / 0"), Err(KeyError::Evaluation(_))));
        assert!(matches!(key("payload.text.below"), Err(KeyError::Evaluation(_))));
    }

    #[test]
    fn a_key_has_its_own_variables() {
        let flaw = KeyExpression::parse("now").unwrap_err();
        assert_eq!(flaw.message, "`now` is not a variable");
        assert_eq!(flaw.help.as_deref(), Some("the variables are: payload, user_id, type, queue"));
        assert!(KeyExpression::parse("[payload.a]").is_err());
        assert!(crate::guard::Guard::parse("queue == 'a'").is_err());
    }
}
