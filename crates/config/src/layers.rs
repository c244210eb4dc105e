//! The three layers of the configuration: file, environment, flags. All are parsed and checked; the last one wins.

use std::ops::Range;
use std::path::Path;

use crate::flaw::{Flaws, Place, Site, ValueError};
use crate::keys::{self, FileValues, KEYS, Key};
use crate::reader::Reader;
use crate::secret::hide;
use crate::source::Source;
use crate::text::list;
use crate::value::{Input, InputForm};
use crate::{Flags, Setting};

/// A parsed value, and where it was set.
#[derive(Clone, Debug)]
pub(crate) struct Assigned<T> {
    pub(crate) value: T,
    pub(crate) site: Site,
}

/// All inputs, and the settings and flaws found in them so far.
pub(crate) struct Layers<'l> {
    pub(crate) folder: &'l Path,
    pub(crate) source: Option<&'l Source>,
    file: &'l FileValues<'l>,
    variables: Vec<(&'static str, String)>,
    /// `None` is a path that is not UTF-8.
    flags: Vec<(&'static str, Option<String>)>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) flaws: Flaws,
}

impl<'l> Layers<'l> {
    pub(crate) fn new(
        folder: &'l Path,
        source: Option<&'l Source>,
        file: &'l FileValues<'l>,
        flags: &Flags,
        env: &impl Fn(&str) -> Option<String>,
        mut flaws: Flaws,
    ) -> Self {
        // Some tools unset a variable by setting it to the empty string.
        let variable = |name: &str| env(&keys::variable(name)).filter(|text| !text.is_empty());
        for table in keys::tables().into_iter().chain([keys::TYPES]) {
            if variable(table).is_some() {
                refuse_variable_of_table(table, &mut flaws);
            }
        }
        Self {
            folder,
            source,
            file,
            variables: KEYS.iter().filter_map(|key| Some((key.name, variable(key.name)?))).collect(),
            flags: flag_values(flags),
            settings: Vec::new(),
            flaws,
        }
    }

    pub(crate) fn reader(&mut self) -> Option<Reader<'_>> {
        self.source.map(|source| Reader { source, flaws: &mut self.flaws })
    }

    /// The value of a key in the last layer that sets it.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&Input<'_>) -> Result<T, ValueError>,
    ) -> Option<Assigned<T>> {
        self.read_all(key, parse).into_iter().flatten().next_back()
    }

    /// The values of a key in the file, the environment and the flags.
    pub(crate) fn read_all<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&Input<'_>) -> Result<T, ValueError>,
    ) -> [Option<Assigned<T>>; 3] {
        let of_text = |text| parse(&Input { key, base: self.folder, form: InputForm::Text(text) });
        let in_file = self
            .source
            .zip(self.file.get(key))
            .map(|(source, value)| parse(&Input { key, base: &source.folder, form: InputForm::Toml(value) }));
        let in_variable = lookup(&self.variables, key).map(|text| of_text(text));
        let in_flag = lookup(&self.flags, key).map(|text| match text {
            Some(text) => of_text(text),
            None => Err(ValueError::new(format!("`{key}` is not valid UTF-8"), "rename it")),
        });
        let [file, variable, flag] = self.sites(key);
        [(file, in_file), (variable, in_variable), (flag, in_flag)].map(|(site, parsed)| {
            let (site, parsed) = site.zip(parsed)?;
            parsed.map_err(|error| self.add_flaw(&site, error)).ok().map(|value| Assigned { value, site })
        })
    }

    /// Where the file, the environment and the flags set a key, validly or not.
    fn sites(&self, key: &'static str) -> [Option<Site>; 3] {
        let flag = || KEYS.iter().find(|known| known.name == key)?.flag;
        [
            self.file.get(key).map(|value| Site::File(value.span())),
            lookup(&self.variables, key).map(|_| Site::Named(keys::variable(key))),
            lookup(&self.flags, key).map(|_| Site::Named(flag().unwrap_or(key).to_owned())),
        ]
    }

    /// Where the last layer that sets a key sets it, validly or not.
    pub(crate) fn site_of(&self, key: &'static str) -> Option<Site> {
        self.sites(key).into_iter().flatten().next_back()
    }

    pub(crate) fn add_flaw(&mut self, site: &Site, error: ValueError) {
        match (site, self.source) {
            (Site::File(at), Some(source)) => self.flaws.add(source, at.clone(), error),
            (Site::File(_), None) => unreachable!("a site in the file comes from reading it"),
            (Site::Named(name), _) => self.flaws.add_elsewhere(Place::Named(name.clone()), error),
        }
    }

    /// Adds an effective value to the settings; without a site it is a default.
    pub(crate) fn record(&mut self, name: &str, value: &str, site: Option<&Site>) {
        let origin = match site {
            None => "default".to_owned(),
            Some(Site::File(at)) => {
                let source = self.source.expect("a site in the file comes from reading it");
                format!("{}:{}", source.path.display(), source.line(at.start))
            }
            Some(Site::Named(name)) => name.clone(),
        };
        self.settings.push(Setting { name: name.to_owned(), value: hide(value), origin });
    }

    /// A key's value or its default, recorded as a setting.
    pub(crate) fn or_default<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&Input<'_>) -> Result<T, ValueError>,
        default: T,
        show: impl Fn(&T) -> String,
    ) -> T {
        let assigned = self.read(key, parse);
        let (value, site) = assigned.map_or((default, None), |found| (found.value, Some(found.site)));
        self.record(key, &show(&value), site.as_ref());
        value
    }

    /// A key's value if it is set, recorded as a setting.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&Input<'_>) -> Result<T, ValueError>,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        let Assigned { value, site } = self.read(key, parse)?;
        self.record(key, &show(&value), Some(&site));
        Some(value)
    }

    /// Where a table or any key in it is set, validly or not.
    pub(crate) fn site_of_table(&self, table: &str) -> Option<Site> {
        let in_file = self.file.tables.iter().find(|(name, _)| name == table);
        in_file.map(|(_, at): &(String, Range<usize>)| Site::File(at.clone())).or_else(|| {
            let (name, _) = self.variables.iter().find(|(name, _)| is_below(name, table))?;
            Some(Site::Named(keys::variable(name)))
        })
    }
}

/// A variable named after a table would be ignored silently.
fn refuse_variable_of_table(table: &str, flaws: &mut Flaws) {
    let below: Vec<String> = KEYS.iter().filter(|key| is_below(key.name, table)).map(Key::variable).collect();
    let help = match below.as_slice() {
        [] => "declare types in the configuration file".to_owned(),
        names => format!("available: {}", list(names)),
    };
    let error = ValueError::new("this names a table of settings, not a setting", help);
    flaws.add_elsewhere(Place::Named(keys::variable(table)), error);
}

fn lookup<'v, T>(values: &'v [(&'static str, T)], key: &str) -> Option<&'v T> {
    values.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

fn is_below(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

fn flag_values(flags: &Flags) -> Vec<(&'static str, Option<String>)> {
    let data = flags.data.as_ref().map(|path| path.to_str().map(str::to_owned));
    let values = [
        ("listen", flags.listen.clone().map(Some)),
        ("data", data),
        ("database_url", flags.database_url.clone().map(Some)),
    ];
    values.into_iter().filter_map(|(key, text)| Some((key, text?))).collect()
}
