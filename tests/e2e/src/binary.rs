//! Finds the `tenure` binary that cargo built, and refuses one that is older than its sources.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

/// Builds the same features as `cargo xtask test`, so that no dependency is compiled twice.
const BUILD: &str = "cargo build --workspace --all-features --bins --examples";

/// The path of the binary under test.
pub fn tenure() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("the test has a path");
        // target/PROFILE/deps/TEST
        let profile = test.ancestors().nth(2).expect("cargo runs tests in target/PROFILE/deps");
        find(profile).unwrap_or_else(|error| panic!("{error}\nhelp: run {BUILD}"))
    });
    &BINARY
}

fn find(profile: &Path) -> Result<PathBuf, String> {
    let binary = profile.join("tenure");
    let metadata = fs::metadata(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let built = metadata.modified().map_err(|error| error.to_string())?;
    let mut sources = sources(&profile.join("deps"), metadata.ino()).into_iter();
    match sources.find(|path| modified(path) > Some(built)) {
        Some(newer) => Err(format!("{} is older than {}", binary.display(), newer.display())),
        None => Ok(binary),
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// The source files of the binary and of the workspace's libraries, from the dependency files that rustc writes beside
/// each artifact. Of several builds of a library the latest counts.
fn sources(artifacts: &Path, binary_inode: u64) -> Vec<PathBuf> {
    let names = fs::read_dir(artifacts).into_iter().flatten().flatten().map(|entry| entry.path());
    let inode = |path: &Path| fs::metadata(path).map(|metadata| metadata.ino()).ok();
    let mut latest: HashMap<String, (SystemTime, PathBuf)> = HashMap::new();
    for path in names {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        // cargo links target/PROFILE/tenure to deps/tenure-HASH.
        let is_binary = name.starts_with("tenure-") && inode(&path) == Some(binary_inode);
        let library = name.strip_prefix("lib").and_then(|name| name.strip_suffix(".rlib"));
        let library = library.filter(|name| name.starts_with("tenure_") && !is_tool(name));
        let Some(stem) = library.or(is_binary.then_some(name)) else { continue };
        let Some(built) = modified(&path) else { continue };
        let (crate_name, _) = stem.rsplit_once('-').unwrap_or((stem, ""));
        if latest.get(crate_name).is_none_or(|(known, _)| *known < built) {
            let dependencies = artifacts.join(format!("{stem}.d"));
            latest.insert(crate_name.to_owned(), (built, dependencies));
        }
    }
    latest.values().flat_map(|(_, dependencies)| listed(dependencies)).collect()
}

/// Libraries that are not part of the binary.
fn is_tool(stem: &str) -> bool {
    stem.starts_with("tenure_e2e-") || stem.starts_with("tenure_sim-")
}

/// The files after which a line of a dependency file ends with a bare colon: `crates/core/src/lib.rs:`.
fn listed(dependencies: &Path) -> Vec<PathBuf> {
    let root = xtask::cargo::root();
    let text = fs::read_to_string(dependencies).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_suffix(':')).map(|file| root.join(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_that_is_missing_or_older_than_a_source_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (profile, source) = (folder.path(), folder.path().join("lib.rs"));
        assert!(find(profile).unwrap_err().contains("tenure: No such file"));
        fs::create_dir(profile.join("deps")).unwrap();
        let write = |name: &str, text: &str| fs::write(profile.join(name), text).unwrap();
        write("lib.rs", "");
        write("deps/libtenure_core-1.rlib", "");
        write("deps/tenure_core-1.d", &format!("out: {0}\n\n{0}:\n", source.display()));
        write("deps/tenure-2", "");
        write("deps/tenure-2.d", "");
        fs::hard_link(profile.join("deps/tenure-2"), profile.join("tenure")).unwrap();
        assert_eq!(find(profile), Ok(profile.join("tenure")));
        let later = SystemTime::now() + std::time::Duration::from_mins(1);
        fs::File::open(&source).unwrap().set_modified(later).unwrap();
        assert!(find(profile).unwrap_err().contains("lib.rs"));
    }
}
