//! The levels in their order: file, environment, flags. Each is read and held to the rules, and the last one counts.

use std::ops::Range;
use std::path::Path;

use super::flaw::{Flaws, Place, Site, Wrong};
use super::keys::{self, KEYS, Leaves};
use super::near::list;
use super::reader::{Reader, Value};
use super::secret::hide;
use super::source::Source;
use super::value::{Raw, Said};
use super::{Flags, Origin, Setting};

/// How late a level comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    File,
    Variable,
    Flag,
}

/// A value that someone said, and where.
#[derive(Clone, Debug)]
pub(super) struct Taken<T> {
    pub(super) value: T,
    pub(super) level: Level,
    pub(super) site: Site,
}

/// Everything that was said, and what came of it so far.
pub(super) struct Levels<'l> {
    pub(super) folder: &'l Path,
    pub(super) source: Option<&'l Source>,
    file: &'l [(&'static str, &'l Value<'l>)],
    tables: &'l [(String, Range<usize>)],
    variables: Vec<(&'static str, String)>,
    flags: Vec<(&'static str, Option<String>)>,
    tables_said: Vec<&'static str>,
    pub(super) settings: Vec<Setting>,
    pub(super) flaws: Flaws,
}

impl<'l> Levels<'l> {
    pub(super) fn new(
        folder: &'l Path,
        source: Option<&'l Source>,
        leaves: &'l Leaves<'l>,
        flags: &Flags,
        env: &impl Fn(&str) -> Option<String>,
        flaws: Flaws,
    ) -> Self {
        // A variable that is set to nothing is how some tools unset one.
        let said = |name: &str| env(&keys::variable(name)).filter(|text| !text.is_empty());
        let tables = keys::tables().into_iter().chain([keys::TYPES]);
        Self {
            folder,
            source,
            file: &leaves.values,
            tables: &leaves.tables,
            variables: KEYS.iter().filter_map(|key| Some((key.name, said(key.name)?))).collect(),
            flags: said_by_flags(flags),
            tables_said: tables.filter(|table| said(table).is_some()).collect(),
            settings: Vec::new(),
            flaws,
        }
    }

    /// The file's reader, if there is a file.
    pub(super) fn reader(&mut self) -> Option<Reader<'_>> {
        self.source.map(|source| Reader { source, flaws: &mut self.flaws })
    }

    /// A variable that is named after a table would be passed over in silence.
    pub(super) fn refuse_tables_as_variables(&mut self) {
        for table in std::mem::take(&mut self.tables_said) {
            let name = keys::variable(table);
            let below: Vec<String> = KEYS
                .iter()
                .filter(|key| key.name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.')))
                .map(keys::Key::variable)
                .collect();
            let help = match below.as_slice() {
                [] => "types are declared in the file".to_owned(),
                names => format!("there are {}", list(names)),
            };
            let wrong = Wrong::new("this is not a setting, but the name of a table of settings", help);
            self.flaws.add_elsewhere(Place::Named(name), wrong);
        }
    }

    /// Reads a key on every level; the last that says it counts.
    pub(super) fn take<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Raw<'_>) -> Result<T, Wrong>,
    ) -> Option<Taken<T>> {
        let said = self.take_all(key, read);
        said.into_iter().next_back()
    }

    /// What each level says for a key, the file first.
    pub(super) fn take_all<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Raw<'_>) -> Result<T, Wrong>,
    ) -> Vec<Taken<T>> {
        let mut taken = Vec::new();
        if let (Some(source), Some((_, value))) =
            (self.source, self.file.iter().find(|(name, _)| *name == key))
        {
            let raw = Raw { key, base: &source.folder, said: Said::Toml(value) };
            self.keep(&mut taken, Level::File, Site::File(value.span()), read(&raw));
        }
        if let Some((_, text)) = self.variables.iter().find(|(name, _)| *name == key) {
            let raw = Raw { key, base: self.folder, said: Said::Text(text) };
            let read = read(&raw);
            self.keep(&mut taken, Level::Variable, Site::Variable(keys::variable(key)), read);
        }
        if let Some((_, text)) = self.flags.iter().find(|(name, _)| *name == key) {
            let read = match text {
                Some(text) => read(&Raw { key, base: self.folder, said: Said::Text(text) }),
                None => Err(Wrong::new(format!("`{key}` is not text in UTF-8"), "rename it")),
            };
            let flag = KEYS.iter().find(|known| known.name == key).and_then(|known| known.flag);
            self.keep(&mut taken, Level::Flag, Site::Flag(flag.unwrap_or(key).to_owned()), read);
        }
        taken
    }

    fn keep<T>(&mut self, taken: &mut Vec<Taken<T>>, level: Level, site: Site, read: Result<T, Wrong>) {
        match read {
            Ok(value) => taken.push(Taken { value, level, site }),
            Err(wrong) => self.wrong(&site, wrong),
        }
    }

    /// Writes down what is wrong with what was said at a place.
    pub(super) fn wrong(&mut self, site: &Site, wrong: Wrong) {
        match (site, self.source) {
            (Site::File(at), Some(source)) => self.flaws.add(source, at.clone(), wrong),
            (Site::File(_), None) => unreachable!("what stands in a file was read from one"),
            (Site::Variable(name) | Site::Flag(name), _) => {
                self.flaws.add_elsewhere(Place::Named(name.clone()), wrong);
            }
        }
    }

    /// Writes down that a value is in force.
    pub(super) fn set(&mut self, name: &str, value: &str, site: Option<&Site>) {
        let origin = match site {
            None => Origin::Default,
            Some(Site::File(at)) => self.origin(at),
            Some(Site::Variable(name)) => Origin::Variable(name.clone()),
            Some(Site::Flag(name)) => Origin::Flag(name.clone()),
        };
        self.settings.push(Setting { name: name.to_owned(), value: hide(value), origin });
    }

    fn origin(&self, at: &Range<usize>) -> Origin {
        let source = self.source.expect("what stands in a file was read from one");
        Origin::File { file: source.path.clone(), line: source.line(at.start) }
    }

    /// A key's value or its default, written down as a setting.
    pub(super) fn value<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Raw<'_>) -> Result<T, Wrong>,
        default: T,
        show: impl Fn(&T) -> String,
    ) -> (T, Option<Site>) {
        let (value, site) =
            self.take(key, read).map_or((default, None), |taken| (taken.value, Some(taken.site)));
        self.set(key, &show(&value), site.as_ref());
        (value, site)
    }

    /// A key's value if someone said one, written down as a setting.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Raw<'_>) -> Result<T, Wrong>,
        show: impl Fn(&T) -> String,
    ) -> Option<Taken<T>> {
        let taken = self.take(key, read)?;
        self.set(key, &show(&taken.value), Some(&taken.site));
        Some(taken)
    }

    /// Whether anyone says a key, readably or not.
    pub(super) fn is_said(&self, key: &str) -> bool {
        self.file.iter().any(|(name, _)| *name == key)
            || self.variables.iter().any(|(name, _)| *name == key)
            || self.flags.iter().any(|(name, _)| *name == key)
    }

    /// Where a table, or any key of it, is said, whether or not it could be read.
    pub(super) fn site_of_table(&self, table: &str) -> Option<Site> {
        let is_below = |name: &str| name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
        let file = self.tables.iter().find(|(name, _)| name == table).map(|(_, at)| Site::File(at.clone()));
        file.or_else(|| {
            let (name, _) = self.variables.iter().find(|(name, _)| is_below(name))?;
            Some(Site::Variable(keys::variable(name)))
        })
    }
}

fn said_by_flags(flags: &Flags) -> Vec<(&'static str, Option<String>)> {
    let data = flags.data.as_ref().map(|path| path.to_str().map(str::to_owned));
    let mut said = vec![
        ("listen", flags.listen.clone().map(Some)),
        ("data", data),
        ("database_url", flags.database_url.clone().map(Some)),
    ];
    said.retain(|(_, text)| text.is_some());
    said.into_iter().map(|(key, text)| (key, text.flatten())).collect()
}
