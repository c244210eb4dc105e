//! Simulated disk failures: `shim.c`, built with the C compiler and loaded into a child.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::stores;

/// The compiled shim, deleted when dropped.
pub(crate) struct Shim(TempDir);

impl Shim {
    pub(crate) fn build() -> Self {
        let folder = stores::a_folder();
        std::fs::write(folder.path().join("shim.c"), include_str!("shim.c"))
            .expect("there is room for the shim");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o", "shim.so", "shim.c", "-ldl"])
            .current_dir(folder.path());
        let built = compiler.output().expect("a C compiler is there: Rust needs one to link");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self(folder)
    }

    /// The environment of a child that loads the shim and fails as configured.
    pub(crate) fn env(&self, fault: &'static str, value: String) -> Vec<(&'static str, String)> {
        vec![("LD_PRELOAD", self.0.path().join("shim.so").display().to_string()), (fault, value)]
    }

    /// A folder beside the shim, on a disk that is not full.
    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }
}
