//! A type's JSON Schema, compiled once when the type is loaded. Nothing is fetched: a schema that refers to anything
//! outside itself is refused. Patterns run on the linear-time engine, so look-around and back references are refused.
//!
//! What it finds wrong never quotes the payload, which may hold secrets: it names the place by its pointer, and the
//! rule in the schema's own terms. It also never works harder to explain than to decide: the library's explanations
//! can grow with the payload to the power of its depth (`anyOf` in a schema that contains itself), and are asked for
//! only where that cannot happen.

mod cost;
mod detail;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value as Json;

use self::cost::{Cost, Extent};

/// A schema's text.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;
/// Nesting of a schema.
pub const SCHEMA_DEPTH_MAX: usize = 64;
/// References in a schema: each that is followed takes stack.
pub const SCHEMA_REFS_MAX: usize = 256;
/// One pattern, compiled. More than a guard's: schemas often count characters of classes, `^[\p{L} ]{1,50}$`.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 4 << 20;
/// What `check` reports at most.
pub const SCHEMA_ERRORS_MAX: usize = 20;

/// A schema that was proved and compiled.
#[derive(Clone, Debug)]
pub struct Schema {
    validator: Validator,
    cost: Cost,
}

/// Why a value is not a schema, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFlaw {
    /// One line.
    pub message: String,
    /// Where in the schema: `#/properties/prompt/type`.
    pub pointer: String,
}

/// One thing wrong with a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer} {detail}")]
pub struct SchemaError {
    /// Where: `#/payload/prompt`, or the nearest place above it whose pointer is not overlong.
    pub pointer: String,
    /// What is wrong there, without quoting it: `is not a string`.
    pub detail: String,
}

impl Schema {
    /// Proves and compiles a schema.
    pub fn parse(schema: &Json) -> Result<Schema, SchemaFlaw> {
        // First, because it also bounds the depth, and writing the schema out recurses.
        let cost = Cost::of(schema)?;
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_BYTES_MAX {
            let message = format!("a schema has at most {SCHEMA_BYTES_MAX} bytes, and this has {bytes}");
            return Err(SchemaFlaw { message, pointer: "#".to_owned() });
        }
        let patterns = PatternOptions::regex()
            .size_limit(SCHEMA_PATTERN_BYTES_MAX)
            .dfa_size_limit(SCHEMA_PATTERN_BYTES_MAX / 4);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| detail::flaw(&error))?;
        Ok(Schema { validator, cost })
    }

    /// Everything wrong with a payload, up to a bound; nothing if it is right.
    pub fn check(&self, payload: &Json) -> Vec<SchemaError> {
        let extent = Extent::of(payload);
        if !self.cost.allows(extent) {
            return vec![whole("is nested too deep for the schema")];
        }
        if self.validator.is_valid(payload) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        if self.cost.allows_all(extent) {
            for error in self.validator.iter_errors(payload).take(SCHEMA_ERRORS_MAX) {
                detail::describe(&error, &mut errors);
            }
        } else if self.cost.allows_first()
            && let Err(first) = self.validator.validate(payload)
        {
            detail::describe(&first, &mut errors);
        }
        if errors.is_empty() {
            errors.push(whole("does not match the schema, and is too large to say where"));
        }
        errors.truncate(SCHEMA_ERRORS_MAX);
        errors
    }
}

fn whole(detail: &str) -> SchemaError {
    SchemaError { pointer: "#/payload".to_owned(), detail: detail.to_owned() }
}
