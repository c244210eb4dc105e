//! Typed access to the TOML tree. Every mismatch is reported as a flaw that says what was expected and what was found.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::flaw::{Flaws, Located, RuleId, Span, suggestion};
use crate::limits;
use crate::text::{did_you_mean, list, toml_type};
use crate::time::Millis;

pub(super) type TomlValue<'t> = Spanned<DeValue<'t>>;

/// Reads values and collects flaws.
pub(super) struct DraftReader<'s> {
    pub(super) flaws: Flaws<'s>,
}

/// A table with its unknown keys reported and removed.
pub(super) struct KnownTable<'t> {
    pub(super) at: Span,
    entries: Vec<(&'static str, &'t TomlValue<'t>)>,
}

impl<'t> KnownTable<'t> {
    pub(super) fn get(&self, key: &str) -> Option<&'t TomlValue<'t>> {
        self.entries.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

impl DraftReader<'_> {
    /// Checks the keys of a table. A typo of a missing key is reported and read as that key.
    pub(super) fn open<'t>(
        &mut self,
        table: &'t DeTable<'t>,
        at: Span,
        what: &str,
        keys: &'static [&'static str],
    ) -> KnownTable<'t> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if let Some(known) = keys.iter().find(|known| **known == name) {
                entries.push((*known, value));
                continue;
            }
            let absent = keys.iter().copied().filter(|known| !table.contains_key(*known));
            let meant = did_you_mean(name, absent);
            let help = suggestion(meant, &format!("the settings of {what} are {}", list(keys)));
            let message = format!("`{}` is not a setting of {what}", shown(name));
            self.flaws.add(RuleId::L1, message, &[(key.span().into(), "unknown")], help);
            entries.extend(meant.map(|meant| (meant, value)));
        }
        KnownTable { at, entries }
    }

    /// The table `key` of `parent`, if it exists and is a table.
    pub(super) fn subtable<'t>(
        &mut self,
        parent: &KnownTable<'t>,
        key: &str,
        keys: &'static [&'static str],
    ) -> Option<KnownTable<'t>> {
        let value = parent.get(key)?;
        let table = self.table(value, key)?;
        Some(self.open(table, value.span().into(), &format!("[{key}]"), keys))
    }

    pub(super) fn table<'t>(&mut self, value: &'t TomlValue<'t>, key: &str) -> Option<&'t DeTable<'t>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        self.wrong_type(value, key, "a table", &format!("write it as a table: [{key}], or {key} = {{ … }}"));
        None
    }

    pub(super) fn text(&mut self, value: &TomlValue<'_>, key: &str) -> Option<Located<String>> {
        self.string(value, key, "a string", "write it in double quotes")
    }

    pub(super) fn optional_text(&mut self, table: &KnownTable<'_>, key: &str) -> Option<Located<String>> {
        table.get(key).and_then(|value| self.text(value, key))
    }

    fn string(
        &mut self,
        value: &TomlValue<'_>,
        key: &str,
        expected: &str,
        help: &str,
    ) -> Option<Located<String>> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(Located { value: text.to_string(), at: value.span().into() });
        }
        self.wrong_type(value, key, expected, help);
        None
    }

    /// One string, or a list of them. Other values are reported and left out.
    pub(super) fn texts(&mut self, value: &TomlValue<'_>, key: &str) -> Vec<Located<String>> {
        if let DeValue::Array(values) = value.get_ref() {
            return values.iter().filter_map(|value| self.text(value, key)).collect();
        }
        let help = format!("write one string, or several: {key} = [\"…\", \"…\"]");
        self.string(value, key, "a string or a list of strings", &help).into_iter().collect()
    }

    pub(super) fn text_list(&mut self, value: &TomlValue<'_>, key: &str) -> Vec<Located<String>> {
        if let DeValue::Array(values) = value.get_ref() {
            return values.iter().filter_map(|value| self.text(value, key)).collect();
        }
        self.wrong_type(value, key, "a list of strings", &format!("write it in brackets: {key} = [\"…\"]"));
        Vec::new()
    }

    /// The duration `key` of a table, if it is there and at least `min_ms` long.
    pub(super) fn duration(&mut self, table: &KnownTable<'_>, key: &str, min_ms: u64) -> Option<Millis> {
        let text = self.duration_text(table.get(key)?, key)?;
        self.parse_duration(&text, key, min_ms)
    }

    pub(super) fn duration_text(&mut self, value: &TomlValue<'_>, key: &str) -> Option<Located<String>> {
        let help = format!("write a number and a unit in double quotes: {key} = \"30s\"");
        self.string(value, key, "a duration", &help)
    }

    pub(super) fn parse_duration(
        &mut self,
        text: &Located<String>,
        key: &str,
        min_ms: u64,
    ) -> Option<Millis> {
        let Some(duration) = Millis::parse(&text.value) else {
            let message = format!("`{}` is not a duration", shown(&text.value));
            let help = "write it like \"500ms\", \"10s\", \"1m 30s\", \"2h\" or \"3d\"; the maximum is a hundred years";
            self.flaws.add(RuleId::Syntax, message, &[(text.at, "expected a number and a unit")], help);
            return None;
        };
        if duration.0 < min_ms {
            let message = format!("`{key}` is {duration}, which is too short");
            let help = format!("the minimum is {}", Millis(min_ms));
            self.flaws.add(RuleId::Syntax, message, &[(text.at, "too short")], help);
            return None;
        }
        Some(duration)
    }

    pub(super) fn number(&mut self, value: &TomlValue<'_>, key: &str, min: u32, max: u32) -> Option<u32> {
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(value, key, "a whole number", &format!("write it without quotes: {key} = {min}"));
            return None;
        };
        let found = i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .and_then(|found| u32::try_from(found).ok());
        if let Some(found) = found.filter(|found| (min..=max).contains(found)) {
            return Some(found);
        }
        let message = format!("`{key}` is {}, which is out of range", shown(&number.to_string()));
        let help = if max == u32::MAX {
            format!("the minimum is {min}")
        } else {
            format!("choose a number from {min} to {max}")
        };
        self.flaws.add(RuleId::Syntax, message, &[(value.span().into(), "out of range")], help);
        None
    }

    /// Reads a word of a fixed set. A typo is reported and read as the word that was meant.
    pub(super) fn word<T>(
        &mut self,
        text: &Located<String>,
        what: &str,
        words: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        if let Some(known) = parse(&text.value) {
            return Some(known);
        }
        let meant = did_you_mean(&text.value, words.iter().copied());
        let message = format!("`{}` is not {what}", shown(&text.value));
        let help = suggestion(meant, &format!("choose from {}", list(words)));
        self.flaws.add(RuleId::L1, message, &[(text.at, "unknown")], help);
        meant.and_then(parse)
    }

    pub(super) fn bad_name(&mut self, name: &Located<String>, what: &str, format: &str) {
        let message = if name.value.len() > limits::NAME_BYTES_MAX {
            format!("the name of {what} has {} bytes, more than {}", name.value.len(), limits::NAME_BYTES_MAX)
        } else {
            format!("`{}` is not a valid name for {what}", shown(&name.value))
        };
        self.flaws.add(RuleId::L1, message, &[(name.at, "not well-formed")], format!("write {format}"));
    }

    pub(super) fn wrong_type(&mut self, value: &TomlValue<'_>, key: &str, expected: &str, help: &str) {
        let found = toml_type(value.get_ref());
        let message = format!("`{key}` must be {expected}, not {found}");
        self.flaws.add(RuleId::Syntax, message, &[(value.span().into(), found)], help);
    }
}

/// Text from the file for a one-line message: control characters escaped, cut after 60 characters.
pub(super) fn shown(text: &str) -> String {
    let escaped: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() { format!("{escaped}…") } else { escaped }
}
