//! The JSON Schema of a type, compiled once when the type is loaded. Nothing is fetched: a schema that refers to
//! anything outside itself is refused. Patterns run on the linear-time engine, so look-around and back references are
//! refused.
//!
//! Errors never quote the payload, which may contain secrets: they give the pointer and the violated constraint of the
//! schema. Explaining an error must not cost more than finding it: the library's explanations can grow exponentially
//! with the depth of the payload (`anyOf` in a recursive schema), and are requested only where that cannot happen.

mod cost;
mod detail;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value as Json;

use self::cost::{PayloadSize, SchemaCost};

/// The length of a schema's text.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;
/// Nesting of a schema.
pub const SCHEMA_DEPTH_MAX: usize = 64;
/// References in a schema: each one that is followed takes stack.
pub const SCHEMA_REFS_MAX: usize = 256;
/// The size of a compiled pattern. More than in a guard, because schemas often repeat classes: `^[\p{L} ]{1,50}$`.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 4 << 20;
/// The number of errors that `check` reports at most.
pub const SCHEMA_ERRORS_MAX: usize = 20;

/// A checked and compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    validator: Validator,
    cost: SchemaCost,
}

/// Why a value is not a valid schema, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFlaw {
    /// One line.
    pub message: String,
    /// In the schema: `#/properties/prompt/type`.
    pub pointer: String,
}

/// A constraint that a payload violates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer} {detail}")]
pub struct SchemaError {
    /// `#/payload/prompt`, or the nearest ancestor with a pointer of limited length.
    pub pointer: String,
    /// What is wrong, without quoting the value: `is not a string`.
    pub detail: String,
}

impl Schema {
    pub fn parse(schema: &Json) -> Result<Schema, SchemaFlaw> {
        // First, because this also limits the depth, and serializing the schema recurses.
        let cost = SchemaCost::of(schema)?;
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_BYTES_MAX {
            let message = format!("the schema has {bytes} bytes, more than {SCHEMA_BYTES_MAX}");
            return Err(SchemaFlaw { message, pointer: "#".to_owned() });
        }
        let patterns = PatternOptions::regex()
            .size_limit(SCHEMA_PATTERN_BYTES_MAX)
            .dfa_size_limit(SCHEMA_PATTERN_BYTES_MAX / 4);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| detail::flaw(&error))?;
        Ok(Schema { validator, cost })
    }

    /// The errors of a payload, at most [`SCHEMA_ERRORS_MAX`]; empty if it is valid.
    pub fn check(&self, payload: &Json) -> Vec<SchemaError> {
        let size = PayloadSize::of(payload);
        if !self.cost.allows(size) {
            return vec![whole_payload("is nested too deep for the schema")];
        }
        if self.validator.is_valid(payload) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        if self.cost.allows_all_errors(size) {
            for error in self.validator.iter_errors(payload).take(SCHEMA_ERRORS_MAX) {
                detail::describe(&error, &mut errors);
            }
        } else if self.cost.allows_first_error()
            && let Err(first) = self.validator.validate(payload)
        {
            detail::describe(&first, &mut errors);
        }
        if errors.is_empty() {
            errors.push(whole_payload("does not match the schema; it is too large to report where"));
        }
        errors.truncate(SCHEMA_ERRORS_MAX);
        errors
    }
}

fn whole_payload(detail: &str) -> SchemaError {
    SchemaError { pointer: "#/payload".to_owned(), detail: detail.to_owned() }
}
