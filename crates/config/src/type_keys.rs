//! The keys of a type that are neither strings nor numbers: schema, guard, backoff.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value as Json;
use tenure_core::lifecycle::{Backoff, Jitter};
use tenure_core::time::Millis;
use tenure_runtime::guard::{Guard, GuardFlaw};
use tenure_runtime::schema::Schema;
use toml::de::{DeTable, DeValue};

use crate::flaw::{ValueError, io_reason};
use crate::reader::{Reader, Table, TableShape, Value};
use crate::source;
use crate::text::printable;
use crate::value::{self, Input, InputForm};

/// A guard that compiles. Its flaw is underlined if the file contains its text unescaped.
pub(crate) fn guard(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<String> {
    let text = reader.get(table, "guard", value::text)?;
    let Err(flaw) = Guard::parse(&text) else { return Some(text) };
    add_expression_flaw(reader, table, "guard", &text, flaw);
    None
}

/// Underlines the flaw of an expression within its text.
pub(crate) fn add_expression_flaw(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    key: &str,
    text: &str,
    flaw: GuardFlaw,
) {
    let span = table.get(key).map(toml::Spanned::span).unwrap_or_default();
    let at = reader.source.text[span.clone()].find(text).map(|offset| {
        let begin = span.start + offset;
        begin + flaw.start..begin + flaw.end
    });
    let message = match at {
        Some(_) => format!("{key}: {}", flaw.message),
        None => format!("{key}, at byte {}: {}", flaw.start, flaw.message),
    };
    reader.add_flaw(span, ValueError::new(message, flaw.help.unwrap_or_default()).at(at));
}

/// An inline table, or the path of a JSON file.
pub(crate) fn schema(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<Json> {
    let value = table.get("schema")?;
    reader.parse(value, "schema", |input| match value.get_ref() {
        DeValue::Table(inline) => inline_schema(inline),
        DeValue::String(_) => file_schema(input),
        _ => {
            let help = "write the path of a JSON file, or the schema itself as a table";
            Err(value::wrong_type(value, "schema", "a string or a table", help))
        }
    })
}

fn file_schema(input: &Input<'_>) -> Result<Json, ValueError> {
    let path = value::path(input)?;
    let file = path.display();
    let text = source::read(&path, source::FILE_BYTES_MAX).map_err(|error| {
        ValueError::new(format!("cannot read the schema {file}: {}", io_reason(&error)), "")
    })?;
    let schema: Json = serde_json::from_str(&text).map_err(|error| {
        ValueError::new(format!("schema {file} is not JSON: {error}"), "write one JSON object into the file")
    })?;
    match Schema::parse(&schema) {
        Ok(_) => Ok(schema),
        Err(flaw) => Err(ValueError::new(format!("schema {file}, at {}: {flaw}", flaw.pointer), "")),
    }
}

fn inline_schema(inline: &DeTable<'_>) -> Result<Json, ValueError> {
    let schema = object(inline)?;
    match Schema::parse(&schema) {
        Ok(_) => Ok(schema),
        Err(flaw) => {
            let error = ValueError::new(format!("schema, at {}: {flaw}", flaw.pointer), "");
            Err(error.at(span_of_pointer(inline, &flaw.pointer)))
        }
    }
}

fn object(table: &DeTable<'_>) -> Result<Json, ValueError> {
    let entry = |(key, value): (&toml::Spanned<Cow<'_, str>>, &Value<'_>)| {
        Ok((key.get_ref().to_string(), json(value)?))
    };
    table.iter().map(entry).collect::<Result<_, ValueError>>().map(Json::Object)
}

fn json(value: &Value<'_>) -> Result<Json, ValueError> {
    let not_json = |what: &str| {
        let message = format!("JSON has no {what}");
        let help = "a schema is JSON, even when it is written as TOML";
        Err(ValueError::new(message, help).at(Some(value.span())))
    };
    match value.get_ref() {
        DeValue::String(text) => Ok(Json::String(text.to_string())),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Ok(Json::from(number)),
            Err(_) => not_json("integer of this size"),
        },
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(serde_json::Number::from_f64);
            number.map_or_else(|| not_json("number like this"), |number| Ok(Json::Number(number)))
        }
        DeValue::Boolean(boolean) => Ok(Json::Bool(*boolean)),
        DeValue::Datetime(_) => not_json("dates"),
        DeValue::Array(values) => values.iter().map(json).collect::<Result<_, _>>().map(Json::Array),
        DeValue::Table(table) => object(table),
    }
}

/// The place of `#/properties/prompt` in an inline schema, or of its nearest ancestor that exists.
fn span_of_pointer(inline: &DeTable<'_>, pointer: &str) -> Option<Range<usize>> {
    let mut steps = pointer.trim_start_matches('#').split('/').skip(1);
    let unescape = |step: &str| step.replace("~1", "/").replace("~0", "~");
    let mut value = inline.get(unescape(steps.next()?).as_str())?;
    for step in steps {
        let below = match value.get_ref() {
            DeValue::Table(table) => table.get(unescape(step).as_str()),
            DeValue::Array(values) => step.parse().ok().and_then(|index: usize| values.get(index)),
            _ => None,
        };
        let Some(below) = below else { break };
        value = below;
    }
    Some(value.span())
}

/// Delays between attempts; keys that are not set keep the lifecycle's values.
pub(crate) fn backoff(reader: &mut Reader<'_>, table: &Table<'_>, default: Backoff) -> Option<Backoff> {
    let value = table.get("backoff")?;
    let entries = reader.table(value, "backoff")?;
    let shape = TableShape { place: "backoff", keys: &["base", "factor", "max", "jitter"] };
    let table = reader.open(entries, value.span(), &shape);
    let jitters = [("none", Jitter::None), ("full", Jitter::Full), ("equal", Jitter::Equal)];
    let jitter = |input: &Input<'_>| value::keyword(input, &jitters);
    Some(Backoff {
        base: reader.get(&table, "base", value::duration(Millis(0))).unwrap_or(default.base),
        factor: reader.get(&table, "factor", factor).unwrap_or(default.factor),
        max: reader.get(&table, "max", value::duration(Millis(0))).unwrap_or(default.max),
        jitter: reader.get(&table, "jitter", jitter).unwrap_or(default.jitter),
    })
}

fn factor(input: &Input<'_>) -> Result<f64, ValueError> {
    let InputForm::Toml(value) = &input.form else { unreachable!("types are only declared in the file") };
    let text = match value.get_ref() {
        DeValue::Integer(number) => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => {
            let help = "write it without quotes: factor = 2.0";
            return Err(value::wrong_type(value, "factor", "a number", help));
        }
    };
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| number.is_finite() && *number >= 1.0).ok_or_else(|| {
        let message = format!("`factor` is out of range: {}", printable(text));
        ValueError::new(message, "use 1 for a constant delay, 2 to double it after each attempt")
    })
}
