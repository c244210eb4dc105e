//! The lifecycles to load: the built-in ones, and those of the files that match `lifecycles`.

use std::path::{Path, PathBuf};

use tenure_core::lifecycle::Lifecycle;
use tenure_core::limits;

use crate::flaw::{Flaws, Place, Site, ValueError, io_reason};
use crate::glob;
use crate::layers::{Assigned, Layers};
use crate::lifecycle_api::mount_conflict;
use crate::source::{self, Source};
use crate::text::printable;
use crate::value::{self, Part};

pub(crate) struct LoadedLifecycles {
    pub(crate) lifecycles: Vec<Lifecycle>,
    /// Whether a file was unreadable or flawed: then its name is unknown, and no name can be reported as missing.
    pub(crate) is_partial: bool,
}

impl LoadedLifecycles {
    /// The newest version of this name.
    pub(crate) fn newest(&self, name: &str) -> Option<&Lifecycle> {
        let named = self.lifecycles.iter().filter(|lifecycle| lifecycle.name == name);
        named.max_by_key(|lifecycle| lifecycle.version)
    }
}

struct LifecycleFile {
    path: PathBuf,
    lifecycle: Lifecycle,
}

/// Loads the files. A lifecycle with the name of a built-in one replaces it.
pub(crate) fn load(layers: &mut Layers<'_>) -> LoadedLifecycles {
    let patterns = layers.read("lifecycles", |input| Ok((value::texts(input)?, input.base.to_path_buf())));
    let mut files = Vec::new();
    let mut is_partial = patterns.is_none() && layers.site_of("lifecycles").is_some();
    if let Some(Assigned { value: (parts, base), site }) = patterns {
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        layers.record("lifecycles", &texts.join(", "), Some(&site));
        let paths = matching_files(layers, &parts, &base, &site);
        is_partial = paths.is_none();
        for path in paths.unwrap_or_default() {
            match read(&path, &mut layers.flaws) {
                Some(lifecycle) => files.push(LifecycleFile { path, lifecycle }),
                None => is_partial = true,
            }
        }
    }
    refuse_duplicates(&files, &mut layers.flaws);
    let mut lifecycles = Lifecycle::built_in();
    lifecycles.retain(|built_in| files.iter().all(|file| file.lifecycle.name != built_in.name));
    lifecycles.extend(files.iter().map(|file| file.lifecycle.clone()));
    if let Some((conflicting, message)) = mount_conflict(&lifecycles) {
        let file = files.iter().find(|file| file.lifecycle.name == conflicting.name);
        let place = file.map_or_else(|| conflicting.name.to_string(), |file| file.path.display().to_string());
        let error = ValueError::new(message, "change the mount of one of them");
        layers.flaws.add_elsewhere(Place::Named(place), error);
    }
    LoadedLifecycles { lifecycles, is_partial }
}

/// The files that match the patterns, each once; `None` if a pattern matches none, which is reported.
fn matching_files(layers: &mut Layers<'_>, parts: &[Part], base: &Path, site: &Site) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut is_complete = true;
    for part in parts {
        let pattern = printable(&part.text);
        let error = match glob::expand(base, &part.text) {
            _ if part.text.contains("**") => ValueError::new(
                format!("`{pattern}` contains `**`, which is not supported"),
                "`*` matches any part of one name; write one pattern per folder",
            ),
            Ok(found) if found.is_empty() => {
                let from = if base.as_os_str().is_empty() { Path::new(".") } else { base };
                let help = format!("paths start at {}", from.display());
                ValueError::new(format!("`{pattern}` matches no file"), help)
            }
            Ok(found) => {
                let new: Vec<PathBuf> = found.into_iter().filter(|file| !files.contains(file)).collect();
                files.extend(new);
                continue;
            }
            Err(error) => {
                ValueError::new(format!("cannot list files for `{pattern}`: {}", io_reason(&error)), "")
            }
        };
        is_complete = false;
        layers.add_flaw(site, error.at(part.at.clone()));
    }
    is_complete.then_some(files)
}

/// Reads and checks a file, and reports its flaws.
fn read(path: &Path, flaws: &mut Flaws) -> Option<Lifecycle> {
    let text = match source::read(path, limits::LIFECYCLE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => {
            let place = Place::Named(path.display().to_string());
            let message = format!("cannot read the file: {}", io_reason(&error));
            flaws.add_elsewhere(place, ValueError::new(message, ""));
            return None;
        }
    };
    let found = match Lifecycle::parse(&text) {
        Ok(lifecycle) => return Some(lifecycle),
        Err(found) => found,
    };
    let source = Source::new(path.to_path_buf(), text);
    for flaw in found {
        let at = flaw.locations.first().map_or(0..0, |place| place.start..place.end);
        let error = ValueError::new(format!("{} {}", flaw.rule, flaw.message), flaw.help);
        flaws.add_elsewhere(source.place(at), error);
    }
    None
}

/// Refuses two files with the same name and version.
fn refuse_duplicates(files: &[LifecycleFile], flaws: &mut Flaws) {
    for (index, LifecycleFile { path, lifecycle }) in files.iter().enumerate() {
        let (name, version) = (&lifecycle.name, lifecycle.version);
        let is_same =
            |other: &&LifecycleFile| other.lifecycle.name == *name && other.lifecycle.version == version;
        if let Some(first) = files[..index].iter().find(is_same) {
            let message = format!("lifecycle {name} version {version} is also in {}", first.path.display());
            let place = Place::Named(path.display().to_string());
            flaws.add_elsewhere(place, ValueError::new(message, "rename it, or increase its version"));
        }
    }
}
