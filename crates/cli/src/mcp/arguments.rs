//! The parameters of tools, and the arguments of a call, which are checked against them.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use super::error::ToolError;
use super::tools::ToolSpec;

/// A parameter of a tool.
pub(super) struct Parameter {
    name: &'static str,
    kind: Kind,
    required: bool,
    about: &'static str,
}

/// What a parameter accepts.
pub(super) enum Kind {
    /// A text of at most this many bytes, not empty.
    Text(usize),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// From 1 to this number.
    Count(u64),
    Flag,
    /// At most this many texts, at least one.
    Names(usize),
}

/// Texts that name something.
const NAME_BYTES_MAX: usize = 1024;

pub(super) const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Text(NAME_BYTES_MAX), required: false, about }
}

pub(super) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter { name, kind, required: false, about }
}

impl Parameter {
    pub(super) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text(bytes_max) => json!({ "type": "string", "minLength": 1, "maxLength": bytes_max }),
            Kind::Choice(values) => json!({ "type": "string", "enum": values }),
            Kind::Count(max) => json!({ "type": "integer", "minimum": 1, "maximum": max }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Names(max) => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": max })
            }
        };
        schema["description"] = json!(self.about);
        schema
    }

    /// What is wrong with an argument.
    fn flaw(&self, value: &Value) -> Option<String> {
        let fits = |text: &str, max: usize| !text.is_empty() && text.len() <= max;
        let (is_valid, expected) = match self.kind {
            Kind::Text(max) => {
                (value.as_str().is_some_and(|it| fits(it, max)), format!("a text of 1 to {max} bytes"))
            }
            Kind::Choice(values) => (
                value.as_str().is_some_and(|it| values.contains(&it)),
                format!("one of {}", values.join(", ")),
            ),
            Kind::Count(max) => (
                value.as_u64().is_some_and(|it| (1..=max).contains(&it)),
                format!("a whole number from 1 to {max}"),
            ),
            Kind::Flag => (value.is_boolean(), "true or false".to_owned()),
            Kind::Names(max) => {
                let is_name = |it: &Value| it.as_str().is_some_and(|it| fits(it, NAME_BYTES_MAX));
                let is_valid =
                    |list: &Vec<Value>| (1..=max).contains(&list.len()) && list.iter().all(is_name);
                (value.as_array().is_some_and(is_valid), format!("a list of 1 to {max} texts"))
            }
        };
        (!is_valid).then(|| format!("`{}` must be {expected}", self.name))
    }
}

/// The JSON Schema of these parameters.
pub(super) fn schema<'a>(parameters: impl Iterator<Item = &'a Parameter> + Clone) -> JsonObject {
    let required: Vec<&str> = parameters.clone().filter(|it| it.required).map(|it| it.name).collect();
    let properties: Map<String, Value> = parameters.map(|it| (it.name.to_owned(), it.schema())).collect();
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// The arguments of a call. Each has the type of its parameter.
#[derive(Debug)]
pub(super) struct Arguments(JsonObject);

impl Arguments {
    /// Checks the arguments. Null is the same as no value.
    pub(super) fn new(tool: &ToolSpec, mut given: JsonObject) -> Result<Self, ToolError> {
        given.retain(|_, value| !value.is_null());
        let flaw = |name: &String, value: &Value| match tool.parameters().find(|it| it.name == name) {
            Some(parameter) => parameter.flaw(value),
            None => Some(format!("unknown argument `{name}`")),
        };
        let mut flaws: Vec<String> = given.iter().filter_map(|(name, value)| flaw(name, value)).collect();
        let missing = tool.parameters().filter(|it| it.required && !given.contains_key(it.name));
        flaws.extend(missing.map(|it| format!("`{}` is missing", it.name)));
        if flaws.is_empty() { Ok(Self(given)) } else { Err(invalid(&flaws.join("; "))) }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The value of a required parameter.
    pub(super) fn required(&self, name: &str) -> &str {
        self.text(name).expect("the arguments were checked")
    }

    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    pub(super) fn count(&self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(Value::as_u64).map(|count| count as usize)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn names(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// The cursor of a list that the server sends whole: the number of rows to skip.
    pub(super) fn offset(&self) -> Result<usize, ToolError> {
        let cursor = self.text("cursor").unwrap_or("0");
        cursor.parse().map_err(|_| invalid("`cursor` must be the `next_cursor` of an earlier answer"))
    }
}

/// The error for arguments that do not match the schema of their tool.
pub(super) fn invalid(detail: &str) -> ToolError {
    ToolError::of("invalid_arguments", detail)
}
