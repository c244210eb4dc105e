//! The files of the tree that are or will be committed, read once for all checks.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Flaw;
use super::source::Source;

/// Folders that are never committed, for trees without git.
const NEVER_COMMITTED: &[&str] = &[".git", "target", "node_modules"];

pub(super) struct File {
    /// From the root.
    pub(super) path: String,
    pub(super) text: String,
    /// Only for Rust.
    pub(super) source: Option<Source>,
}

impl File {
    pub(super) fn flaw(&self, line: usize, message: impl Into<String>) -> Flaw {
        Flaw::new(&self.path, line, message)
    }

    /// The lines, numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, text)| (index + 1, text))
    }

    /// The comments on a line of Rust.
    pub(super) fn comment(&self, line: usize) -> &str {
        self.source.as_ref().map_or("", |source| &source.comments[line - 1])
    }
}

pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

impl Tree {
    /// Reads every file below `root` that git tracks or would add.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut paths = git_files(root).map_or_else(|| walked_files(root), Ok)?;
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            // A file that git lists may be deleted already; one that is not text counts as empty.
            let Ok(bytes) = fs::read(root.join(&path)) else { continue };
            let text = String::from_utf8(bytes).unwrap_or_default();
            let source = path.strip_suffix(".rs").map(|_| Source::scan(&text));
            files.push(File { path, text, source });
        }
        mark_test_modules(&mut files);
        Ok(Self { files })
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether this is a file or a folder with files.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.iter().any(|file| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }

    /// Every Rust file with its scanned source.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.source.as_ref()?)))
    }

    /// The lines of Rust outside tests.
    pub(super) fn code_lines(&self) -> impl Iterator<Item = (&File, usize, &str)> {
        self.rust().flat_map(|(file, source)| source.code_lines().map(move |(line, text)| (file, line, text)))
    }

    /// The lines of Rust inside tests.
    pub(super) fn test_lines(&self) -> impl Iterator<Item = (&File, usize, &str)> {
        self.rust().flat_map(|(file, source)| source.test_lines().map(move |(line, text)| (file, line, text)))
    }

    /// The string literals of Rust outside tests, each with its first line.
    pub(super) fn literals(&self) -> impl Iterator<Item = (&File, usize, &str)> {
        self.rust().flat_map(|(file, source)| {
            let literals = source.literals.iter().filter(|(line, _)| !source.is_test(*line));
            literals.map(move |(line, text)| (file, *line, text.as_str()))
        })
    }

    /// The folders directly under `crates/`.
    pub(super) fn crates(&self) -> Vec<&str> {
        let inside = self.files.iter().filter_map(|file| file.path.strip_prefix("crates/"));
        let mut names: Vec<&str> = inside.filter_map(|path| Some(path.split_once('/')?.0)).collect();
        names.dedup();
        names
    }
}

fn git_files(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "-co", "--exclude-standard"]).current_dir(root);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let list = String::from_utf8(output.stdout).ok()?;
    Some(list.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect())
}

fn walked_files(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && !NEVER_COMMITTED.iter().any(|name| entry.file_name() == *name) {
                folders.push(entry.path());
            } else if kind.is_file() {
                paths.extend(entry.path().strip_prefix(root)?.to_str().map(str::to_string));
            }
        }
    }
    Ok(paths)
}

/// A module declared as `#[cfg(test)] mod name;` is a test, although its file does not say so.
fn mark_test_modules(files: &mut [File]) {
    let mut modules = Vec::new();
    for file in files.iter() {
        let Some(source) = &file.source else { continue };
        let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let folder = match stem.rsplit_once('/') {
            Some((parent, "lib" | "main" | "mod")) => parent,
            _ => stem,
        };
        modules.extend(source.test_modules.iter().map(|name| format!("{folder}/{name}")));
    }
    for file in files {
        let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let declared = modules.iter().any(|module| path == module || path.starts_with(&format!("{module}/")));
        let in_folder = file.path.split('/').any(|part| part == "tests" || part == "tests.rs");
        if let Some(source) = file.source.as_mut().filter(|_| declared || in_folder) {
            source.mark_as_test();
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Writes the files to a new folder, loads it as a tree and returns what a check finds, one line each.
    pub(in crate::tidy) fn found(files: &[(&str, &str)], check: impl Fn(&Tree) -> Vec<Flaw>) -> String {
        let flaws = check(&tree_of(files));
        flaws.iter().map(Flaw::to_string).collect::<Vec<_>>().join("\n")
    }

    pub(in crate::tidy) fn tree_of(files: &[(&str, &str)]) -> Tree {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("tenure-tidy-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let tree = Tree::load(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        tree
    }

    #[test]
    fn files_and_folders_are_found_and_build_output_is_not() {
        let tree = tree_of(&[("crates/a/src/lib.rs", ""), ("crates/b/x.sql", ""), ("target/x.rs", "")]);
        assert!(tree.has("crates/a/src") && tree.has("crates/a/src/lib.rs") && tree.has("crates/b/"));
        assert!(!tree.has("crates/a/s") && !tree.has("target/x.rs"));
        assert_eq!(tree.crates(), ["a", "b"]);
    }

    #[test]
    fn a_module_declared_for_tests_is_a_test() {
        let tree = tree_of(&[
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod fixture;\nmod b;\n"),
            ("crates/a/src/fixture.rs", "fn f() {}\n"),
            ("crates/a/src/fixture/more.rs", "fn f() {}\n"),
            ("crates/a/src/b.rs", "#[cfg(test)]\nmod checks;\n"),
            ("crates/a/src/b/checks.rs", "fn f() {}\n"),
            ("crates/a/tests/it/main.rs", "fn f() {}\n"),
        ]);
        let tests = tree.rust().filter(|(_, source)| source.is_test(1)).map(|(file, _)| file.path.as_str());
        let expected = [
            "crates/a/src/b.rs",
            "crates/a/src/b/checks.rs",
            "crates/a/src/fixture.rs",
            "crates/a/src/fixture/more.rs",
            "crates/a/src/lib.rs",
            "crates/a/tests/it/main.rs",
        ];
        assert_eq!(tests.collect::<Vec<_>>(), expected);
        assert!(!tree.file("crates/a/src/lib.rs").unwrap().source.as_ref().unwrap().is_test(3));
    }
}
