//! Field names of a lifecycle API: the name of each canonical field, in both directions. Values pass as text, so no number
//! changes.
//!
//! A dotted field selects a part of a value: it appears beside the whole field, which keeps its own name. A canonical name
//! that the API gives to another field means that field: with `"error.text" = "error"`, `error` is the text.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::http::reports::code_and_message;

/// Prefix of a sent name that the API does not have, so that it is refused like any unknown name.
const UNKNOWN: char = '\u{e000}';

#[derive(Clone, Debug, Default)]
pub(crate) struct FieldNames(Vec<FieldAlias>);

#[derive(Clone, Debug)]
struct FieldAlias {
    /// The canonical field; more than one step for a dotted one.
    path: Vec<String>,
    /// On the wire.
    name: String,
}

impl FieldAlias {
    fn head(&self) -> &str {
        &self.path[0]
    }

    fn is_plain(&self, field: &str) -> bool {
        self.path.len() == 1 && self.path[0] == field
    }
}

impl FieldNames {
    /// From an `[api.fields]` table: canonical field, name on the wire.
    pub(crate) fn new(fields: &[(String, String)]) -> Self {
        let named = |(field, name): &(String, String)| FieldAlias {
            path: field.split('.').map(str::to_owned).collect(),
            name: name.clone(),
        };
        Self(fields.iter().map(named).collect())
    }

    /// The name of a canonical field, including dotted ones.
    pub(crate) fn name<'a>(&'a self, field: &'a str) -> &'a str {
        let named = self.0.iter().find(|named| named.path.iter().map(String::as_str).eq(field.split('.')));
        named.map_or(field, |named| &named.name)
    }

    /// The dotted fields and their names.
    pub(super) fn parts(&self) -> impl Iterator<Item = (String, &str)> {
        let dotted = self.0.iter().filter(|named| named.path.len() > 1);
        dotted.map(|named| (named.path.join("."), named.name.as_str()))
    }

    /// A job, or any object with fields of a job, with these names; anything else unchanged.
    pub(crate) fn job(&self, canonical: &RawValue) -> Box<RawValue> {
        let Some(members) = members(canonical) else { return canonical.to_owned() };
        let is_there = |named: &&FieldAlias| members.iter().any(|(field, _)| field == named.head());
        let present: Vec<&FieldAlias> = self.0.iter().filter(is_there).collect();
        let mut object = ObjectWriter::default();
        for (field, value) in &members {
            match present.iter().find(|named| named.is_plain(field)) {
                Some(named) => object.member(&named.name, value.get()),
                // Another field has its name.
                None if present.iter().any(|named| named.name == *field) => {}
                None => object.member(field, value.get()),
            }
            let parts = present.iter().filter(|named| named.path.len() > 1 && named.head() == field);
            for part in parts {
                object.member(&part.name, pick(value, &part.path[1..]));
            }
        }
        object.finish()
    }

    /// These fields of a job, or of an event, and nothing else; null where there is none.
    pub(crate) fn pick(&self, canonical: &RawValue, fields: &[String]) -> Box<RawValue> {
        let mut object = ObjectWriter::default();
        for field in fields {
            let path: Vec<String> = field.split('.').map(str::to_owned).collect();
            object.member(self.name(field), pick(canonical, &path));
        }
        object.finish()
    }

    /// A sent object with canonical names; `takes` are the fields of a job that it may have. A name that the API does not
    /// have stays unknown, and so does a part that is sent beside the whole field.
    pub(crate) fn canonical(&self, sent: &RawValue, takes: &[&str]) -> Box<RawValue> {
        let Some(members) = members(sent) else { return sent.to_owned() };
        let mut object = ObjectWriter::default();
        let (mut given, mut wholes) = (Vec::new(), Vec::new());
        for (name, value) in &members {
            let text = value.get();
            let Some(named) = self.field_of(name, takes) else {
                given.push(name.as_str());
                object.member(&self.as_sent(name), text);
                continue;
            };
            let head = named.head();
            let is_whole = head == "error" && named.name == head && !text.starts_with('"');
            if named.path.len() == 1 || is_whole {
                given.push(head);
                object.member(head, text);
            } else if head != "error" || text != "null" {
                for (path, text) in parts(&named.path, text) {
                    put(&mut wholes, named, &path, text);
                }
            }
        }
        for (named, whole) in wholes {
            if given.contains(&named.head()) {
                object.member(&format!("{UNKNOWN}{}", named.name), &whole.text());
            } else {
                given.push(named.head());
                object.member(named.head(), &whole.text());
            }
        }
        object.finish()
    }

    /// The canonical name of a query parameter.
    pub(crate) fn canonical_name<'a>(&'a self, sent: &'a str, takes: &[&str]) -> Cow<'a, str> {
        let plain = self.field_of(sent, takes).filter(|named| named.path.len() == 1);
        plain.map_or_else(|| self.as_sent(sent), |named| Cow::Borrowed(named.head()))
    }

    /// The field with this name, among those that may be sent.
    fn field_of(&self, name: &str, takes: &[&str]) -> Option<&FieldAlias> {
        self.0.iter().find(|named| named.name == name && takes.contains(&named.head()))
    }

    /// A name without a field: the canonical name of a renamed field is made unknown.
    fn as_sent<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let is_renamed = |named: &FieldAlias| named.is_plain(name) && named.name != name;
        if self.0.iter().any(is_renamed) { format!("{UNKNOWN}{name}").into() } else { name.into() }
    }

    /// Where an error is, in these names: `#/payload/prompt` is `#/request/prompt`, and `?state` is `?status`.
    pub(crate) fn pointer(&self, canonical: &str) -> String {
        let leads = ["#/filter/", "#/", "?"];
        let Some(lead) = leads.into_iter().find(|lead| canonical.starts_with(lead)) else {
            return canonical.to_owned();
        };
        let rest = &canonical[lead.len()..];
        if let Some(sent) = rest.strip_prefix(UNKNOWN) {
            return format!("{lead}{sent}");
        }
        let steps: Vec<&str> = rest.split('/').collect();
        let leads_there = |named: &&FieldAlias| {
            named.path.len() <= steps.len() && named.path.iter().zip(&steps).all(|(a, b)| escape(a) == **b)
        };
        let Some(named) = self.0.iter().filter(leads_there).max_by_key(|named| named.path.len()) else {
            return canonical.to_owned();
        };
        let name = escape(&named.name);
        let steps = std::iter::once(&*name).chain(steps[named.path.len()..].iter().copied());
        format!("{lead}{}", steps.collect::<Vec<_>>().join("/"))
    }

    /// A message about a wrong shape, with these names.
    pub(crate) fn detail(&self, canonical: &str) -> String {
        let about_fields = ["unknown field `", "missing field `", "duplicate field `"];
        let about_fields = about_fields.iter().any(|start| canonical.starts_with(start));
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == UNKNOWN;
        let mut text = String::with_capacity(canonical.len());
        let mut rest = canonical;
        while let Some(start) = rest.find(is_word) {
            let (before, from) = rest.split_at(start);
            let (word, after) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
            let is_quoted = about_fields && before.ends_with('`') && after.starts_with('`');
            text.push_str(before);
            text.push_str(match word.strip_prefix(UNKNOWN) {
                Some(sent) => sent,
                None if is_quoted || word.contains('_') => self.name(word),
                None => word,
            });
            rest = after;
        }
        text + rest
    }
}

/// The place of a part in its whole field. An error's text is its code and its message; everything else is one value.
fn parts<'a>(path: &[String], text: &'a str) -> Vec<(Vec<String>, Cow<'a, str>)> {
    let said = if *path == ["error", "text"] { serde_json::from_str::<String>(text).ok() } else { None };
    let Some(said) = said else { return vec![(path[1..].to_vec(), text.into())] };
    let (code, message) = code_and_message(&said);
    let part = |name: &str, value: &str| (vec![name.to_owned()], quoted(value).into());
    code.map(|code| part("code", code)).into_iter().chain([part("message", message)]).collect()
}

/// Puts a part into its whole field; if its place is taken, into another whole field of the same name.
fn put<'a>(
    wholes: &mut Vec<(&'a FieldAlias, PartialValue<'a>)>,
    part: &'a FieldAlias,
    path: &[String],
    text: Cow<'a, str>,
) {
    let text = match wholes.iter_mut().find(|(first, _)| first.head() == part.head()) {
        Some((_, whole)) => match whole.insert(path, text) {
            Ok(()) => return,
            Err(text) => text,
        },
        None => text,
    };
    let mut whole = PartialValue::Branch(Vec::new());
    whole.insert(path, text).expect("nothing is in the way of the first part");
    wholes.push((part, whole));
}

/// A value that is assembled from parts.
enum PartialValue<'a> {
    Leaf(Cow<'a, str>),
    Branch(Vec<(String, Self)>),
}

impl<'a> PartialValue<'a> {
    /// Returns the part if its place is taken.
    fn insert(&mut self, path: &[String], text: Cow<'a, str>) -> Result<(), Cow<'a, str>> {
        let Self::Branch(children) = self else { return Err(text) };
        let (step, rest) = path.split_first().expect("a part has a name");
        match children.iter_mut().find(|(name, _)| name == step) {
            Some(_) if rest.is_empty() => Err(text),
            Some((_, child)) => child.insert(rest, text),
            None if rest.is_empty() => {
                children.push((step.clone(), Self::Leaf(text)));
                Ok(())
            }
            None => {
                let mut child = Self::Branch(Vec::new());
                child.insert(rest, text)?;
                children.push((step.clone(), child));
                Ok(())
            }
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Leaf(text) => text.as_ref().into(),
            Self::Branch(children) => {
                let mut object = ObjectWriter::default();
                for (name, child) in children {
                    object.member(name, &child.text());
                }
                object.finish().get().to_owned().into()
            }
        }
    }
}

/// The value at the end of a path, or null.
fn pick<'a>(value: &'a RawValue, path: &[String]) -> &'a str {
    let step = |value: &'a RawValue, step: &String| {
        members(value)?.into_iter().find(|(name, _)| name == step).map(|(_, value)| value)
    };
    path.iter().try_fold(value, step).map_or("null", RawValue::get)
}

#[derive(Default)]
pub(super) struct ObjectWriter(String);

impl ObjectWriter {
    pub(super) fn member(&mut self, name: &str, text: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&quoted(name));
        self.0.push(':');
        self.0.push_str(text);
    }

    pub(super) fn finish(mut self) -> Box<RawValue> {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        RawValue::from_string(self.0).expect("members that are JSON make an object that is")
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name as a step of a pointer.
fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) { name.replace('~', "~0").replace('/', "~1").into() } else { name.into() }
}

/// The members of an object in their order, if it is one.
pub(super) fn members(value: &RawValue) -> Option<Vec<(String, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            std::iter::from_fn(|| map.next_entry().transpose()).collect()
        }
    }
    serde_json::Deserializer::from_str(value.get()).deserialize_map(Members).ok()
}
