//! Looks into the TOML tree: what is mistaken becomes a flaw and the walk goes on, so that all is told at once.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flaw::{Flaws, Wrong};
use super::keys;
use super::near::{did_you_mean, list, shown};
use super::source::Source;
use super::value::{self, Raw, Said};

/// Any value, with its place.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// Reads the configuration file, and writes down what is wrong.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    pub(super) flaws: &'a mut Flaws,
}

/// A table whose keys are known to be ones that may stand there.
pub(super) struct Table<'t> {
    pub(super) at: Range<usize>,
    pub(super) entries: Vec<(&'static str, &'t Value<'t>)>,
}

impl<'t> Table<'t> {
    pub(super) fn get(&self, key: &str) -> Option<&'t Value<'t>> {
        self.entries.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

/// A table's name as a file's reader would write it, and the keys that may stand in it.
pub(super) struct Form<'f> {
    pub(super) what: &'f str,
    pub(super) keys: &'f [&'static str],
}

impl Reader<'_> {
    pub(super) fn wrong(&mut self, at: Range<usize>, wrong: Wrong) {
        self.flaws.add(self.source, at, wrong);
    }

    /// Takes a table's keys in. One that is a near miss of a key that is missing is read as that key.
    pub(super) fn open<'t>(
        &mut self,
        table: &'t DeTable<'t>,
        at: Range<usize>,
        form: &Form<'_>,
    ) -> Table<'t> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if let Some(known) = form.keys.iter().find(|known| **known == name) {
                entries.push((*known, value));
                continue;
            }
            let absent = form.keys.iter().copied().filter(|known| !table.contains_key(*known));
            let meant = did_you_mean(name, absent);
            let message = format!("`{}` is not a setting of {}", shown(name), form.what);
            self.wrong(key.span(), Wrong::new(message, unknown_help(name, meant, form)));
            if let Some(meant) = meant {
                entries.push((meant, value));
            }
        }
        Table { at, entries }
    }

    /// The value as a table.
    pub(super) fn table<'t>(&mut self, value: &'t Value<'t>, name: &str) -> Option<&'t DeTable<'t>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        self.wrong(value.span(), value::wrong_type(value, name, "a table", &format!("write [{name}]")));
        None
    }

    /// What a key of a table says, if it is there and can be read.
    pub(super) fn get<T>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        read: impl FnOnce(&Raw<'_>) -> Result<T, Wrong>,
    ) -> Option<T> {
        let value = table.get(key)?;
        let raw = Raw { key, base: &self.source.folder, said: Said::Toml(value) };
        match read(&raw) {
            Ok(read) => Some(read),
            Err(wrong) => {
                self.wrong(value.span(), wrong);
                None
            }
        }
    }
}

fn unknown_help(name: &str, meant: Option<&str>, form: &Form<'_>) -> String {
    if let Some(meant) = meant {
        return format!("did you mean `{meant}`?");
    }
    match keys::home(name) {
        Some("") => format!("`{name}` belongs at the top of the file, before the first [table]"),
        Some(table) => format!("`{name}` belongs in [{table}]"),
        None => format!("there are {}", list(form.keys)),
    }
}

/// The tree of a file. A file that is not TOML is one flaw: what comes after it would be a guess.
pub(super) fn parse<'s>(source: &'s Source, flaws: &mut Flaws) -> Option<Spanned<DeTable<'s>>> {
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    let is_duplicate = |error: &toml::de::Error| error.message() == "duplicate key";
    let not_toml = errors.iter().filter(|error| !is_duplicate(error));
    if let Some(error) = not_toml.min_by_key(|error| error.span().map_or(0, |span| span.start)) {
        let help = "names are bare, texts stand in quotes, and each `key = value` has a line of its own";
        let wrong = Wrong::new(format!("this is not TOML: {}", error.message()), help);
        flaws.add(source, error.span().unwrap_or(0..0), wrong);
        return None;
    }
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let name = shown(source.text.get(span.clone()).unwrap_or_default());
        let wrong = Wrong::new(format!("`{name}` stands here a second time"), "remove one of the two");
        flaws.add(source, span, wrong);
    }
    Some(root)
}
