//! The shim that simulates disk failures, in a folder that is deleted with it.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::stores;

pub(crate) struct Shim {
    folder: TempDir,
    library: PathBuf,
}

impl Shim {
    pub(crate) fn build() -> Self {
        let folder = stores::a_folder();
        let library = xtask::shim::build(folder.path()).expect("the shim can be built");
        Self { folder, library }
    }

    /// The environment of a child that loads the shim and fails as configured.
    pub(crate) fn env(&self, fault: &'static str, value: String) -> Vec<(&'static str, String)> {
        vec![("LD_PRELOAD", self.library.display().to_string()), (fault, value)]
    }

    /// A folder beside the shim, on a disk that is not full.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
