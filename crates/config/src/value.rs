//! Parses one value: a TOML value of the file, or the text of an environment variable or a flag.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tenure_core::limits;
use tenure_core::text::toml_type;
use tenure_core::time::Millis;
use toml::de::DeValue;

use crate::flaw::ValueError;
use crate::reader::Value;
use crate::size::Size;
use crate::text::{printable, suggestion};

/// A value as one layer sets it.
pub(crate) struct Input<'v> {
    pub(crate) key: &'v str,
    /// The base of relative paths.
    pub(crate) base: &'v Path,
    pub(crate) form: InputForm<'v>,
}

pub(crate) enum InputForm<'v> {
    Toml(&'v Value<'v>),
    Text(&'v str),
}

/// One item of a list, with its place in the file.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) text: String,
    pub(crate) at: Option<Range<usize>>,
}

/// A string that is not empty.
pub(crate) fn text(input: &Input<'_>) -> Result<String, ValueError> {
    let text = match &input.form {
        InputForm::Text(text) => (*text).to_owned(),
        InputForm::Toml(value) => string(value, input.key)?.to_owned(),
    };
    if text.is_empty() {
        let message = format!("`{}` is empty", input.key);
        return Err(ValueError::new(message, "set a value, or remove the line"));
    }
    Ok(text)
}

/// The name of a queue or a type.
pub(crate) fn name(input: &Input<'_>) -> Result<String, ValueError> {
    let name = text(input)?;
    check_name(&name, input.key)?;
    Ok(name)
}

/// Holds a name to the limits of names in jobs.
pub(crate) fn check_name(name: &str, what: &str) -> Result<(), ValueError> {
    if name.is_empty() || name.len() > limits::NAME_BYTES_MAX || name.contains(char::is_control) {
        let message = format!("`{}` is not a valid name for {what}", printable(name));
        let help = format!("use 1 to {} bytes without control characters", limits::NAME_BYTES_MAX);
        return Err(ValueError::new(message, help));
    }
    Ok(())
}

pub(crate) fn path(input: &Input<'_>) -> Result<PathBuf, ValueError> {
    Ok(input.base.join(text(input)?))
}

/// A list of strings; in variables, separated by commas.
pub(crate) fn texts(input: &Input<'_>) -> Result<Vec<Part>, ValueError> {
    let value = match &input.form {
        InputForm::Text(text) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            return Ok(parts.map(|part| Part { text: part.to_owned(), at: None }).collect());
        }
        InputForm::Toml(value) => value,
    };
    let DeValue::Array(values) = value.get_ref() else {
        let help = format!("put it in brackets: {} = [\"…\"]", last(input.key));
        return Err(wrong_type(value, input.key, "a list of strings", &help));
    };
    let part = |value: &Value<'_>| match string(value, input.key) {
        Ok(text) if !text.is_empty() => Ok(Part { text: text.to_owned(), at: Some(value.span()) }),
        Ok(_) => Err(ValueError::new("this string is empty", "remove it").at(Some(value.span()))),
        Err(error) => Err(error.at(Some(value.span()))),
    };
    values.iter().map(part).collect()
}

/// A whole number in a range.
pub(crate) fn number<T: TryFrom<i64>>(min: i64, max: i64) -> impl Fn(&Input<'_>) -> Result<T, ValueError> {
    move |input| {
        let (found, written) = match &input.form {
            InputForm::Text(text) => (text.trim().parse().ok(), printable(text)),
            InputForm::Toml(value) => {
                let DeValue::Integer(number) = value.get_ref() else {
                    let help = format!("write it without quotes: {} = {}", last(input.key), min.max(1));
                    return Err(wrong_type(value, input.key, "a whole number", &help));
                };
                (i64::from_str_radix(number.as_str(), number.radix()).ok(), printable(&number.to_string()))
            }
        };
        found
            .filter(|found| (min..=max).contains(found))
            .and_then(|found| T::try_from(found).ok())
            .ok_or_else(|| out_of_range(input, &written, &format!("use a whole number from {min} to {max}")))
    }
}

/// A size from 1 byte to `max`.
pub(crate) fn size(max: Size) -> impl Fn(&Input<'_>) -> Result<Size, ValueError> {
    move |input| {
        let (found, written) = match &input.form {
            InputForm::Text(text) => (Size::parse(text), printable(text)),
            InputForm::Toml(value) => match value.get_ref() {
                DeValue::String(text) => (Size::parse(text), printable(text)),
                DeValue::Integer(number) => {
                    let bytes = usize::from_str_radix(number.as_str(), number.radix()).ok();
                    (bytes.map(Size), printable(&number.to_string()))
                }
                _ => {
                    let help = format!("write a number of bytes, or {} = \"1 MiB\"", last(input.key));
                    return Err(wrong_type(value, input.key, "a size", &help));
                }
            },
        };
        let Some(found) = found else {
            let help = "write it like \"512 KiB\", \"1 MiB\" or \"16 MB\"; a bare number is bytes";
            return Err(ValueError::new(format!("`{written}` is not a size"), help));
        };
        if !(Size(1)..=max).contains(&found) {
            return Err(out_of_range(input, &found.to_string(), &format!("use 1 B to {max}")));
        }
        Ok(found)
    }
}

/// A duration of at least `min`.
pub(crate) fn duration(min: Millis) -> impl Fn(&Input<'_>) -> Result<Millis, ValueError> {
    move |input| {
        let text = match &input.form {
            InputForm::Text(text) => *text,
            InputForm::Toml(value) => {
                let DeValue::String(text) = value.get_ref() else {
                    let help = format!("write a number and a unit, in quotes: {} = \"30s\"", last(input.key));
                    return Err(wrong_type(value, input.key, "a duration", &help));
                };
                text.as_ref()
            }
        };
        let found = parse_duration(text)?;
        if found < min {
            let message = format!("`{}` is too short: {found}", input.key);
            return Err(ValueError::new(message, format!("the minimum is {min}")));
        }
        Ok(found)
    }
}

pub(crate) fn parse_duration(text: &str) -> Result<Millis, ValueError> {
    Millis::parse(text).ok_or_else(|| {
        let help = "write it like \"500ms\", \"10s\", \"1m 30s\", \"2h\" or \"3d\", at most 100 years";
        ValueError::new(format!("`{}` is not a duration", printable(text)), help)
    })
}

/// One of a few keywords.
pub(crate) fn keyword<T: Copy>(input: &Input<'_>, known: &[(&str, T)]) -> Result<T, ValueError> {
    let found = text(input)?;
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    known.iter().find(|(name, _)| *name == found).map(|(_, value)| *value).ok_or_else(|| {
        let message = format!("`{}` is not a value of `{}`", printable(&found), input.key);
        ValueError::new(message, suggestion(&found, &names))
    })
}

/// An address and a port to listen on.
pub(crate) fn address(input: &Input<'_>) -> Result<SocketAddr, ValueError> {
    let text = text(input)?;
    text.parse().map_err(|_| {
        let host = text.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
        let help = match host {
            Some(("localhost", Ok(port))) => format!("write the address: 127.0.0.1:{port}"),
            Some(("" | "*", Ok(port))) => format!("0.0.0.0:{port} listens on every address"),
            _ => "write an IP address and a port: 127.0.0.1:7117, [::1]:7117".to_owned(),
        };
        ValueError::new(format!("`{}` is not an address to listen on", printable(&text)), help)
    })
}

/// A URL with one of these schemes. The message does not quote it: it may contain a password.
pub(crate) fn url(input: &Input<'_>, schemes: &[&str]) -> Result<String, ValueError> {
    let text = text(input)?;
    let has_host = |scheme: &&str| {
        text.strip_prefix(*scheme).is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
    };
    if schemes.iter().any(has_host) {
        return Ok(text);
    }
    let message = format!("`{}` must be a URL that starts with {}", input.key, schemes.join(" or "));
    Err(ValueError::new(message, format!("write {}host…", schemes[0])))
}

pub(crate) fn wrong_type(value: &Value<'_>, key: &str, expected: &str, help: &str) -> ValueError {
    let found = toml_type(value.get_ref());
    ValueError::new(format!("`{key}` must be {expected}, not {found}"), help)
}

fn out_of_range(input: &Input<'_>, found: &str, help: &str) -> ValueError {
    ValueError::new(format!("`{}` is out of range: {found}", input.key), help)
}

fn string<'v>(value: &'v Value<'_>, key: &str) -> Result<&'v str, ValueError> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.as_ref()),
        _ => Err(wrong_type(value, key, "a string", "put it in quotes")),
    }
}

/// `payload` of `limits.payload`: the key as written in its table.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}
