//! Reads tables of the configuration file. A mistake becomes a flaw and reading continues, so that all are reported at once.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::flaw::{Flaws, ValueError};
use crate::keys;
use crate::source::Source;
use crate::text::{did_you_mean, list, printable};
use crate::value::{self, Input, InputForm};

/// A TOML value with its place.
pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

pub(crate) struct Reader<'a> {
    pub(crate) source: &'a Source,
    pub(crate) flaws: &'a mut Flaws,
}

/// A table whose keys are all known.
pub(crate) struct Table<'t> {
    pub(crate) at: Range<usize>,
    pub(crate) entries: Vec<(&'static str, &'t Value<'t>)>,
}

impl<'t> Table<'t> {
    pub(crate) fn get(&self, key: &str) -> Option<&'t Value<'t>> {
        self.entries.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

/// A table's name as messages print it (empty for the top of the file), and the keys it may have.
pub(crate) struct TableShape<'f> {
    pub(crate) place: &'f str,
    pub(crate) keys: &'f [&'static str],
}

impl Reader<'_> {
    pub(crate) fn add_flaw(&mut self, at: Range<usize>, error: ValueError) {
        self.flaws.add(self.source, at, error);
    }

    /// Reads a table's keys. An unknown key that resembles a missing one is reported, and read as that one.
    pub(crate) fn open<'t>(
        &mut self,
        table: &'t DeTable<'t>,
        at: Range<usize>,
        shape: &TableShape<'_>,
    ) -> Table<'t> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if let Some(known) = shape.keys.iter().find(|known| **known == name) {
                entries.push((*known, value));
                continue;
            }
            let absent = shape.keys.iter().copied().filter(|known| !table.contains_key(*known));
            let meant = did_you_mean(name, absent);
            let place = if shape.place.is_empty() { String::new() } else { format!(" in {}", shape.place) };
            let message = format!("unknown setting `{}`{place}", printable(name));
            self.add_flaw(key.span(), ValueError::new(message, unknown_help(name, meant, shape)));
            if let Some(meant) = meant {
                entries.push((meant, value));
            }
        }
        Table { at, entries }
    }

    pub(crate) fn table<'t>(&mut self, value: &'t Value<'t>, name: &str) -> Option<&'t DeTable<'t>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        let error = value::wrong_type(value, name, "a table", &format!("write [{name}]"));
        self.add_flaw(value.span(), error);
        None
    }

    /// The value of a key, if it is set and valid.
    pub(crate) fn get<T>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        parse: impl FnOnce(&Input<'_>) -> Result<T, ValueError>,
    ) -> Option<T> {
        self.parse(table.get(key)?, key, parse)
    }

    /// A value, if it is valid.
    pub(crate) fn parse<T>(
        &mut self,
        value: &Value<'_>,
        key: &str,
        parse: impl FnOnce(&Input<'_>) -> Result<T, ValueError>,
    ) -> Option<T> {
        let parsed = parse(&Input { key, base: &self.source.folder, form: InputForm::Toml(value) });
        parsed.map_err(|error| self.add_flaw(value.span(), error)).ok()
    }
}

fn unknown_help(name: &str, meant: Option<&str>, shape: &TableShape<'_>) -> String {
    if let Some(meant) = meant {
        return format!("did you mean `{meant}`?");
    }
    match keys::table_of(name) {
        Some("") => format!("`{name}` belongs at the top of the file, before the first [table]"),
        Some(table) => format!("`{name}` belongs in [{table}]"),
        None => format!("available: {}", list(shape.keys)),
    }
}

/// Parses the file. A syntax error is the only flaw reported: whatever follows it would be a guess.
pub(crate) fn parse<'s>(source: &'s Source, flaws: &mut Flaws) -> Option<Spanned<DeTable<'s>>> {
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    let is_duplicate = |error: &toml::de::Error| error.message() == "duplicate key";
    let syntax = errors.iter().filter(|error| !is_duplicate(error));
    if let Some(error) = syntax.min_by_key(|error| error.span().map_or(0, |span| span.start)) {
        let help = "keys are bare, strings are quoted, and each `key = value` is on its own line";
        let message = format!("invalid TOML: {}", error.message());
        flaws.add(source, error.span().unwrap_or(0..0), ValueError::new(message, help));
        return None;
    }
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let name = printable(source.text.get(span.clone()).unwrap_or_default());
        let error = ValueError::new(format!("`{name}` is set twice"), "remove one of the two");
        flaws.add(source, span, error);
    }
    Some(root)
}
