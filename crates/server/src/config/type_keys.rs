//! The keys of a type that are more than a text or a number: schema, guard, backoff.

use std::ops::Range;

use serde_json::Value as Json;
use tenure_core::lifecycle::{Backoff, Jitter};
use tenure_core::time::Millis;
use tenure_runtime::guard::Guard;
use tenure_runtime::schema::Schema;
use toml::de::{DeArray, DeTable, DeValue};

use super::flaw::{Wrong, said};
use super::near::shown;
use super::reader::{Form, Reader, Table, Value};
use super::source;
use super::value::{self, Raw, Said};

/// A span of time below the keys of a type.
pub(super) fn span(reader: &mut Reader<'_>, value: &Value<'_>, key: &str, least: Millis) -> Option<Millis> {
    let raw = Raw { key, base: &reader.source.folder, said: Said::Toml(value) };
    value::span(&raw, least).map_err(|wrong| reader.wrong(value.span(), wrong)).ok()
}

/// A text that compiles. What is wrong is shown within it, if it stands in the file as it is.
pub(super) fn guard(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<String> {
    let text = reader.get(table, "guard", value::text)?;
    let Err(flaw) = Guard::parse(&text) else { return Some(text) };
    let span = table.get("guard").map(toml::Spanned::span).unwrap_or_default();
    let at = reader.source.text[span.clone()].find(&text).map(|offset| {
        let begin = span.start + offset;
        begin + flaw.start..begin + flaw.end
    });
    let message = match at {
        Some(_) => format!("the guard: {}", flaw.message),
        None => format!("the guard, at its byte {}: {}", flaw.start, flaw.message),
    };
    reader.wrong(span, Wrong::new(message, flaw.help.unwrap_or_default()).at(at));
    None
}

/// An inline table, or the path of a JSON file.
pub(super) fn schema(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<Json> {
    let value = table.get("schema")?;
    let read = match value.get_ref() {
        DeValue::Table(inline) => inline_schema(inline),
        DeValue::String(_) => {
            let raw = Raw { key: "schema", base: &reader.source.folder, said: Said::Toml(value) };
            file_schema(&raw)
        }
        _ => {
            let help = "write the path of a JSON file, or the schema itself as a table";
            Err(value::wrong_type(value, "schema", "a text or a table", help))
        }
    };
    read.map_err(|wrong| reader.wrong(value.span(), wrong)).ok()
}

fn file_schema(raw: &Raw<'_>) -> Result<Json, Wrong> {
    let path = value::path(raw)?;
    let file = path.display();
    let text = source::read(&path, source::FILE_BYTES_MAX)
        .map_err(|error| Wrong::new(format!("the schema {file} cannot be read: {}", said(&error)), ""))?;
    let schema: Json = serde_json::from_str(&text).map_err(|error| {
        Wrong::new(format!("the schema {file} is not JSON: {error}"), "a schema file is one JSON object")
    })?;
    match Schema::parse(&schema) {
        Ok(_) => Ok(schema),
        Err(flaw) => Err(Wrong::new(format!("the schema {file}, at {}: {flaw}", flaw.pointer), "")),
    }
}

fn inline_schema(inline: &DeTable<'_>) -> Result<Json, Wrong> {
    let schema = object(inline)?;
    match Schema::parse(&schema) {
        Ok(_) => Ok(schema),
        Err(flaw) => {
            let wrong = Wrong::new(format!("the schema, at {}: {flaw}", flaw.pointer), "");
            Err(wrong.at(pointed(inline, &flaw.pointer)))
        }
    }
}

fn object(table: &DeTable<'_>) -> Result<Json, Wrong> {
    let entry = |(key, value): (&toml::Spanned<_>, &Value<'_>)| {
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        Ok((key.to_string(), json(value)?))
    };
    table.iter().map(entry).collect::<Result<serde_json::Map<_, _>, Wrong>>().map(Json::Object)
}

fn array(values: &DeArray<'_>) -> Result<Json, Wrong> {
    values.iter().map(json).collect::<Result<Vec<_>, _>>().map(Json::Array)
}

/// The same value in JSON.
fn json(value: &Value<'_>) -> Result<Json, Wrong> {
    let not_json = |what: &str| {
        let message = format!("JSON has no {what}");
        Err(Wrong::new(message, "a schema is JSON, even if it is written as TOML").at(Some(value.span())))
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
        DeValue::Boolean(truth) => Ok(Json::Bool(*truth)),
        DeValue::Datetime(_) => not_json("dates"),
        DeValue::Array(values) => array(values),
        DeValue::Table(table) => object(table),
    }
}

/// The place of `#/properties/prompt` in an inline schema, or of the nearest place above it.
fn pointed(inline: &DeTable<'_>, pointer: &str) -> Option<Range<usize>> {
    let mut steps = pointer.trim_start_matches('#').split('/').skip(1);
    let unescape = |step: &str| step.replace("~1", "/").replace("~0", "~");
    let mut value = inline.get(unescape(steps.next()?).as_str())?;
    for step in steps {
        let below = match value.get_ref() {
            DeValue::Table(table) => table.get(unescape(step).as_str()),
            DeValue::Array(values) => step.parse().ok().and_then(|nth: usize| values.get(nth)),
            _ => None,
        };
        let Some(below) = below else { break };
        value = below;
    }
    Some(value.span())
}

/// Delays between attempts; what is not said is the lifecycle's.
pub(super) fn backoff(reader: &mut Reader<'_>, table: &Table<'_>, usual: Backoff) -> Option<Backoff> {
    let value = table.get("backoff")?;
    let said = reader.table(value, "backoff")?;
    let form = Form { what: "backoff", keys: &["base", "factor", "max", "jitter"] };
    let said = reader.open(said, value.span(), &form);
    let jitters = [("none", Jitter::None), ("full", Jitter::Full), ("equal", Jitter::Equal)];
    let backoff = Backoff {
        base: reader.get(&said, "base", |raw| value::span(raw, Millis(0))).unwrap_or(usual.base),
        factor: reader.get(&said, "factor", factor).unwrap_or(usual.factor),
        max: reader.get(&said, "max", |raw| value::span(raw, Millis(0))).unwrap_or(usual.max),
        jitter: reader.get(&said, "jitter", |raw| value::word(raw, &jitters)).unwrap_or(usual.jitter),
    };
    Some(backoff)
}

fn factor(raw: &Raw<'_>) -> Result<f64, Wrong> {
    let Said::Toml(value) = &raw.said else { unreachable!("a type is declared in the file alone") };
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
        let message = format!("`factor` is {}, which is out of bounds", shown(text));
        Wrong::new(message, "1 keeps the delay as it is, 2 doubles it each time")
    })
}
