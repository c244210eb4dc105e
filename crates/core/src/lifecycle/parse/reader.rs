//! Typed looks into the TOML tree. Each says in our own words what it found instead of what it expected.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::flaw::{At, Flaws, RuleId, Span};
use crate::limits;
use crate::time::Millis;
use crate::text::{did_you_mean, list};

/// Any value, with its place.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// Reads, and writes down what is wrong.
pub(super) struct Reader<'s> {
    pub(super) flaws: Flaws<'s>,
}

/// A table whose keys are known to be ones that may stand there.
pub(super) struct Table<'t> {
    pub(super) at: Span,
    entries: Vec<(&'static str, &'t Value<'t>)>,
}

impl<'t> Table<'t> {
    pub(super) fn get(&self, key: &str) -> Option<&'t Value<'t>> {
        self.entries.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

impl Reader<'_> {
    /// Takes a table's keys in. One that is a near miss of a key that is missing is read as that key.
    pub(super) fn open<'t>(
        &mut self,
        table: &'t DeTable<'t>,
        at: Span,
        what: &str,
        keys: &'static [&'static str],
    ) -> Table<'t> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if let Some(known) = keys.iter().find(|known| **known == name) {
                entries.push((*known, value));
                continue;
            }
            let absent = keys.iter().copied().filter(|known| !table.contains_key(*known));
            let meant = did_you_mean(name, absent);
            self.unknown_key(key.span().into(), name, what, meant, keys);
            if let Some(meant) = meant {
                entries.push((meant, value));
            }
        }
        Table { at, entries }
    }

    fn unknown_key(&mut self, at: Span, name: &str, what: &str, meant: Option<&str>, keys: &[&str]) {
        let known = format!("{what} may say {}", list(keys));
        let help = meant.map_or_else(|| known.clone(), |meant| format!("did you mean `{meant}`? {known}"));
        let message = format!("`{}` is not a setting of {what}", shown(name));
        self.flaws.add(RuleId::L1, message, &[(at, "unknown")], help);
    }

    /// A table below another: `key` of `parent`, if it is there and is a table.
    pub(super) fn below<'t>(
        &mut self,
        parent: &Table<'t>,
        key: &str,
        keys: &'static [&'static str],
    ) -> Option<Table<'t>> {
        let value = parent.get(key)?;
        let table = self.table(value, key)?;
        Some(self.open(table, value.span().into(), &format!("[{key}]"), keys))
    }

    pub(super) fn table<'t>(&mut self, value: &'t Value<'t>, key: &str) -> Option<&'t DeTable<'t>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        self.wrong_type(value, key, "a table", &format!("write it as a table: [{key}], or {key} = {{ … }}"));
        None
    }

    pub(super) fn text(&mut self, value: &Value<'_>, key: &str) -> Option<At<String>> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(At { value: text.to_string(), at: value.span().into() });
        }
        self.wrong_type(value, key, "a text", "write it between double quotes");
        None
    }

    /// One text, or a list of them. What is not a text is left out, and told.
    pub(super) fn texts(&mut self, value: &Value<'_>, key: &str) -> Vec<At<String>> {
        match value.get_ref() {
            DeValue::Array(values) => values.iter().filter_map(|value| self.text(value, key)).collect(),
            DeValue::String(text) => vec![At { value: text.to_string(), at: value.span().into() }],
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => {
                let help = format!("write one text, or several: {key} = [\"…\", \"…\"]");
                self.wrong_type(value, key, "a text or a list of texts", &help);
                Vec::new()
            }
        }
    }

    /// A list that must be written as one.
    pub(super) fn text_list(&mut self, value: &Value<'_>, key: &str) -> Vec<At<String>> {
        if let DeValue::Array(values) = value.get_ref() {
            return values.iter().filter_map(|value| self.text(value, key)).collect();
        }
        self.wrong_type(value, key, "a list of texts", &format!("write it in brackets: {key} = [\"…\"]"));
        Vec::new()
    }

    /// A span of time that is at least `least_ms` long.
    pub(super) fn span(&mut self, value: &Value<'_>, key: &str, least_ms: u64) -> Option<Millis> {
        let text = self.duration_text(value, key)?;
        self.parse_span(&text, key, least_ms)
    }

    pub(super) fn duration_text(&mut self, value: &Value<'_>, key: &str) -> Option<At<String>> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(At { value: text.to_string(), at: value.span().into() });
        }
        let help = format!("write a number and a unit, between double quotes: {key} = \"30s\"");
        self.wrong_type(value, key, "a duration", &help);
        None
    }

    pub(super) fn parse_span(&mut self, text: &At<String>, key: &str, least_ms: u64) -> Option<Millis> {
        let Some(span) = Millis::parse(&text.value) else {
            let message = format!("`{}` is not a duration", shown(&text.value));
            let help = "write it like \"500ms\", \"10s\", \"1m 30s\", \"2h\" or \"3d\"; a hundred years are the most";
            self.flaws.add(RuleId::Syntax, message, &[(text.at, "a number and a unit, please")], help);
            return None;
        };
        if span.0 < least_ms {
            let message = format!("`{key}` is {span}, which is too short");
            let help = format!("{} is the least", Millis(least_ms));
            self.flaws.add(RuleId::Syntax, message, &[(text.at, "too short")], help);
            return None;
        }
        Some(span)
    }

    /// A whole number within bounds.
    pub(super) fn number(&mut self, value: &Value<'_>, key: &str, least: u32, most: u32) -> Option<u32> {
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(
                value,
                key,
                "a whole number",
                &format!("write it without quotes: {key} = {least}"),
            );
            return None;
        };
        let found = i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .and_then(|found| u32::try_from(found).ok());
        if let Some(found) = found.filter(|found| (least..=most).contains(found)) {
            return Some(found);
        }
        let message = format!("`{key}` is {}, which is out of bounds", shown(&number.to_string()));
        let help = if most == u32::MAX {
            format!("{least} is the least")
        } else {
            format!("{least} to {most} will do")
        };
        self.flaws.add(RuleId::Syntax, message, &[(value.span().into(), "out of bounds")], help);
        None
    }

    /// One of a few words.
    pub(super) fn unknown_word(
        &mut self,
        text: &At<String>,
        what: &str,
        words: &[&str],
        meant: Option<&str>,
    ) {
        let known = format!("there are {}", list(words));
        let help = meant.map_or_else(|| known.clone(), |meant| format!("did you mean `{meant}`? {known}"));
        let message = format!("`{}` is not {what}", shown(&text.value));
        self.flaws.add(RuleId::L1, message, &[(text.at, "unknown")], help);
    }

    /// A name that is written as it may not be.
    pub(super) fn bad_name(&mut self, name: &At<String>, what: &str, form: &str) {
        let message = if name.value.len() > limits::NAME_BYTES_MAX {
            format!("{what} has {} bytes, and {} are the most", name.value.len(), limits::NAME_BYTES_MAX)
        } else {
            format!("`{}` is no name for {what}", shown(&name.value))
        };
        self.flaws.add(RuleId::L1, message, &[(name.at, "not well-formed")], format!("write {form}"));
    }

    pub(super) fn wrong_type(&mut self, value: &Value<'_>, key: &str, expected: &str, help: &str) {
        let found = match value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{key}` must be {expected}, and this is {found}");
        self.flaws.add(RuleId::Syntax, message, &[(value.span().into(), found)], help);
    }
}

/// A text from the file, fit for one line: control characters escaped, the rest of a long one left out.
pub(super) fn shown(text: &str) -> String {
    let escaped: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() { format!("{escaped}…") } else { escaped }
}
