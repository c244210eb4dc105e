//! A folder with files in it, an environment and flags, loaded as a configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use expect_test::{ExpectFile, expect_file};
use tempfile::TempDir;
use tenure_config::{ConfigError, Flags, Loaded, Setting, load_in};

pub(crate) struct Fixture {
    folder: TempDir,
    variables: BTreeMap<String, String>,
    flags: Flags,
}

impl Fixture {
    pub(crate) fn new(file: &str) -> Self {
        Self::empty().with("tenure.toml", file)
    }

    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        Self { folder, variables: BTreeMap::new(), flags: Flags::default() }
    }

    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("the path has a folder")).expect("folders can be created");
        fs::write(path, text).expect("files can be written");
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn load(&self) -> Result<Loaded, ConfigError> {
        load_in(self.folder.path(), &self.flags, |name| self.variables.get(name).cloned())
    }

    pub(crate) fn loaded(&self) -> Loaded {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Compares the flaws with `cases/{case}.txt`.
    pub(crate) fn check_error(&self, case: &str) {
        expected(case).assert_eq(&self.error());
    }

    /// The error, with paths relative to the folder.
    pub(crate) fn error(&self) -> String {
        self.relative(&self.load().expect_err("the configuration is flawed").to_string())
    }

    fn relative(&self, text: &str) -> String {
        let folder = self.folder.path().display().to_string();
        text.replace(&format!("{folder}/"), "").replace(&folder, ".") + "\n"
    }

    /// Compares the settings and their origins with `cases/{case}.txt`.
    pub(crate) fn check_settings(&self, case: &str) {
        let line = |setting: &Setting| format!("{} = {} ({})", setting.name, setting.value, setting.origin);
        let lines: Vec<String> = self.loaded().config.settings.iter().map(line).collect();
        expected(case).assert_eq(&self.relative(&lines.join("\n")));
    }

    pub(crate) fn setting(&self, name: &str) -> (String, String) {
        let found = self.loaded().config.settings.into_iter().find(|setting| setting.name == name);
        found.map_or_else(|| panic!("{name} is not set"), |setting| (setting.value, setting.origin))
    }
}

fn path(file: &str) -> String {
    format!("{}/tests/it/cases/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn expected(case: &str) -> ExpectFile {
    expect_file![path(&format!("{case}.txt"))]
}

/// Compares the flaws of `cases/{case}.toml` with `cases/{case}.txt`.
pub(crate) fn check(case: &str) {
    let file = fs::read_to_string(path(&format!("{case}.toml"))).expect("the case has a file");
    Fixture::new(&file).check_error(case);
}

pub(crate) const ERRAND: &str = include_str!("cases/errand.toml");
