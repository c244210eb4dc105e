//! What a value means, whoever said it: a TOML value in the file, or a text in the environment or a flag.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tenure_core::limits;
use tenure_core::time::Millis;
use toml::de::DeValue;

use super::flaw::Wrong;
use super::near::{did_you_mean, list, shown};
use super::reader::Value;
use super::size::Size;

/// A value as one level says it.
pub(super) struct Raw<'v> {
    /// The key it was said for.
    pub(super) key: &'v str,
    /// Where its relative paths begin.
    pub(super) base: &'v Path,
    pub(super) said: Said<'v>,
}

/// The form in which it was said.
pub(super) enum Said<'v> {
    Toml(&'v Value<'v>),
    Text(&'v str),
}

/// One of a list, with its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) at: Option<Range<usize>>,
}

/// A text that is not empty.
pub(super) fn text(raw: &Raw<'_>) -> Result<String, Wrong> {
    let text = match &raw.said {
        Said::Text(text) => (*text).to_owned(),
        Said::Toml(value) => string(value, raw.key)?.to_owned(),
    };
    if text.is_empty() {
        return Err(Wrong::new(format!("`{}` is empty", raw.key), "say something, or remove the line"));
    }
    Ok(text)
}

/// A name as jobs carry it: of a queue, of a type.
pub(super) fn name(raw: &Raw<'_>) -> Result<String, Wrong> {
    let name = text(raw)?;
    check_name(&name, raw.key)?;
    Ok(name)
}

/// Holds a name to what a job's names are held to.
pub(super) fn check_name(name: &str, what: &str) -> Result<(), Wrong> {
    if name.is_empty() || name.len() > limits::NAME_BYTES_MAX || name.contains(char::is_control) {
        let message = format!("`{}` is no name for {what}", shown(name));
        let help = format!("1 to {} bytes, no control characters", limits::NAME_BYTES_MAX);
        return Err(Wrong::new(message, help));
    }
    Ok(())
}

/// A path, from the folder of whoever said it.
pub(super) fn path(raw: &Raw<'_>) -> Result<PathBuf, Wrong> {
    Ok(raw.base.join(text(raw)?))
}

/// A list of texts; outside of the file, with commas between them.
pub(super) fn texts(raw: &Raw<'_>) -> Result<Vec<Part>, Wrong> {
    let value = match &raw.said {
        Said::Text(text) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            return Ok(parts.map(|part| Part { text: part.to_owned(), at: None }).collect());
        }
        Said::Toml(value) => value,
    };
    let DeValue::Array(values) = value.get_ref() else {
        let help = format!("write it in brackets: {} = [\"…\"]", last(raw.key));
        return Err(wrong_type(value, raw.key, "a list of texts", &help));
    };
    let part = |value: &Value<'_>| match string(value, raw.key) {
        Ok(text) if !text.is_empty() => Ok(Part { text: text.to_owned(), at: Some(value.span()) }),
        Ok(_) => Err(Wrong::new("this text is empty", "remove it").at(Some(value.span()))),
        Err(wrong) => Err(wrong.at(Some(value.span()))),
    };
    values.iter().map(part).collect()
}

/// A whole number within bounds.
pub(super) fn number(raw: &Raw<'_>, least: i64, most: i64) -> Result<i64, Wrong> {
    let (found, written) = match &raw.said {
        Said::Text(text) => (text.trim().parse().ok(), shown(text)),
        Said::Toml(value) => {
            let DeValue::Integer(number) = value.get_ref() else {
                let help = format!("write it without quotes: {} = {}", last(raw.key), least.max(1));
                return Err(wrong_type(value, raw.key, "a whole number", &help));
            };
            (i64::from_str_radix(number.as_str(), number.radix()).ok(), shown(&number.to_string()))
        }
    };
    found.filter(|found| (least..=most).contains(found)).ok_or_else(|| {
        let message = format!("`{}` is {written}, which is out of bounds", raw.key);
        Wrong::new(message, format!("a whole number from {least} to {most} will do"))
    })
}

/// A size from 1 byte to `most`.
pub(super) fn size(raw: &Raw<'_>, most: Size) -> Result<Size, Wrong> {
    let (found, written) = match &raw.said {
        Said::Text(text) => (Size::parse(text), shown(text)),
        Said::Toml(value) => match value.get_ref() {
            DeValue::String(text) => (Size::parse(text), shown(text)),
            DeValue::Integer(number) => {
                let bytes = usize::from_str_radix(number.as_str(), number.radix()).ok();
                (bytes.map(Size), shown(&number.to_string()))
            }
            _ => {
                let help = format!("write a number of bytes, or {} = \"1 MiB\"", last(raw.key));
                return Err(wrong_type(value, raw.key, "a size", &help));
            }
        },
    };
    let Some(found) = found else {
        let help = "write it like \"512 KiB\", \"1 MiB\" or \"16 MB\"; a bare number is bytes";
        return Err(Wrong::new(format!("`{written}` is not a size"), help));
    };
    if !(Size(1)..=most).contains(&found) {
        let message = format!("`{}` is {found}, which is out of bounds", raw.key);
        return Err(Wrong::new(message, format!("1 B to {most} will do")));
    }
    Ok(found)
}

/// A span of time that is at least so long.
pub(super) fn span(raw: &Raw<'_>, least: Millis) -> Result<Millis, Wrong> {
    let text = match &raw.said {
        Said::Text(text) => *text,
        Said::Toml(value) => {
            let DeValue::String(text) = value.get_ref() else {
                let help = format!("write a number and a unit, in quotes: {} = \"30s\"", last(raw.key));
                return Err(wrong_type(value, raw.key, "a duration", &help));
            };
            text.as_ref()
        }
    };
    let Some(found) = Millis::parse(text) else {
        let help =
            "write it like \"500ms\", \"10s\", \"1m 30s\", \"2h\" or \"3d\"; a hundred years are the most";
        return Err(Wrong::new(format!("`{}` is not a duration", shown(text)), help));
    };
    if found < least {
        let message = format!("`{}` is {found}, which is too short", raw.key);
        return Err(Wrong::new(message, format!("{least} is the least")));
    }
    Ok(found)
}

/// One of a few words.
pub(super) fn word<T: Copy>(raw: &Raw<'_>, words: &[(&str, T)]) -> Result<T, Wrong> {
    let found = text(raw)?;
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    words.iter().find(|(name, _)| *name == found).map(|(_, word)| *word).ok_or_else(|| {
        let message = format!("`{}` is not a value of `{}`", shown(&found), raw.key);
        Wrong::new(message, meant_or_list(&found, &names))
    })
}

/// `did you mean …?`, or all that there are.
pub(super) fn meant_or_list(word: &str, words: &[&str]) -> String {
    match did_you_mean(word, words.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {}", list(words)),
    }
}

/// An address and a port to listen on.
pub(super) fn address(raw: &Raw<'_>) -> Result<SocketAddr, Wrong> {
    let text = text(raw)?;
    text.parse().map_err(|_| {
        let host = text.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
        let help = match host {
            Some(("localhost", Ok(port))) => format!("write the address: 127.0.0.1:{port}"),
            Some(("" | "*", Ok(port))) => format!("0.0.0.0:{port} listens on every address"),
            _ => "write an IP address and a port: 127.0.0.1:7117, [::1]:7117".to_owned(),
        };
        Wrong::new(format!("`{}` is not an address to listen on", shown(&text)), help)
    })
}

/// A URL of one of these schemes. The message does not quote it: there may be a password in it.
pub(super) fn url(raw: &Raw<'_>, schemes: &[&str]) -> Result<String, Wrong> {
    let text = text(raw)?;
    let has_host = |scheme: &&str| {
        text.strip_prefix(*scheme).is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
    };
    if schemes.iter().any(has_host) {
        return Ok(text);
    }
    let message = format!("`{}` is not a URL that begins with {}", raw.key, schemes.join(" or "));
    Err(Wrong::new(message, format!("write {}host…", schemes[0])))
}

/// What was found instead of what was expected.
pub(super) fn wrong_type(value: &Value<'_>, key: &str, expected: &str, help: &str) -> Wrong {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Wrong::new(format!("`{key}` must be {expected}, and this is {found}"), help)
}

fn string<'v>(value: &'v Value<'_>, key: &str) -> Result<&'v str, Wrong> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.as_ref()),
        _ => Err(wrong_type(value, key, "a text", "write it in quotes")),
    }
}

/// `payload` of `limits.payload`: how it is written in its table.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}
