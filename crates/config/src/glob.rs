//! Path patterns: `*` matches any part of one name, except the leading dot of a hidden file. Nothing else is special.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tenure_core::pattern;

/// The files that match a pattern, sorted. Fails only if an existing folder cannot be listed.
pub(crate) fn expand(base: &Path, pattern: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![base.to_path_buf()];
    for component in Path::new(pattern).components() {
        let name = component.as_os_str().to_string_lossy();
        if !matches!(component, Component::Normal(_)) || !name.contains('*') {
            for path in &mut found {
                path.push(component);
            }
            continue;
        }
        let mut deeper = Vec::new();
        for folder in &found {
            deeper.extend(matching_entries(folder, &name)?);
        }
        found = deeper;
    }
    found.retain(|path| path.is_file());
    found.sort();
    Ok(found)
}

fn matching_entries(folder: &Path, pattern: &str) -> io::Result<Vec<PathBuf>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = match fs::read_dir(here) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if name.to_str().is_some_and(|name| matches(pattern, name)) {
            found.push(folder.join(name));
        }
    }
    Ok(found)
}

fn matches(pattern: &str, name: &str) -> bool {
    (pattern.starts_with('.') || !name.starts_with('.')) && pattern::matches(pattern, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_part_of_one_name() {
        for (pattern, name, fits) in [
            ("*.toml", "a.toml", true),
            ("*.toml", ".toml", false),
            (".*", ".toml", true),
            ("*.toml", "a.toml.bak", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "ac", false),
            ("a*a", "a", false),
            ("**", "x", true),
            ("a[b]?", "a[b]?", true),
            ("a[b]*", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
