//! A folder with files in it, an environment and flags, loaded as a configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use expect_test::Expect;
use tempfile::TempDir;
use tenure_config::{ConfigError, Flags, Loaded, Origin, Setting, load_in};

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

    /// The error, with paths relative to the folder.
    pub(crate) fn error(&self) -> String {
        self.relative(&self.load().expect_err("the configuration is flawed").to_string())
    }

    fn relative(&self, text: &str) -> String {
        let folder = self.folder.path().display().to_string();
        text.replace(&format!("{folder}/"), "").replace(&folder, ".") + "\n"
    }

    pub(crate) fn settings(&self) -> String {
        let line = |setting: &Setting| format!("{} = {} ({})", setting.name, setting.value, setting.origin);
        self.relative(&self.loaded().config.settings.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    pub(crate) fn setting(&self, name: &str) -> (String, Origin) {
        let found = self.loaded().config.settings.into_iter().find(|setting| setting.name == name);
        found.map_or_else(|| panic!("{name} is not set"), |setting| (setting.value, setting.origin))
    }
}

pub(crate) fn check(file: &str, expected: &Expect) {
    expected.assert_eq(&Fixture::new(file).error());
}

pub(crate) const ERRAND: &str = r#"
name    = "errand"
version = 1
about   = "CommandOutput by a worker, or not."
initial = "queued"

[states]
queued  = { role = "ready" }
running = { role = "active" }
done    = { outcome = "succeeded" }
failed  = { outcome = "failed" }

[[transitions]]
on = "create"
to = "queued"

[[transitions]]
on   = "claim"
from = "queued"
to   = "running"

[[transitions]]
on   = "succeed"
from = "running"
to   = "done"

[[transitions]]
on   = ["fail", "lease_expired"]
from = "running"
when = "retry"
to   = "queued"

[[transitions]]
on   = ["fail", "lease_expired"]
from = "running"
to   = "failed"
"#;
