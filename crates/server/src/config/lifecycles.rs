//! The lifecycles in force: those built in, and those of the files that `lifecycles` picks.

use std::path::{Path, PathBuf};

use tenure_core::lifecycle::Lifecycle;
use tenure_core::limits;

use super::flaw::{Flaws, Place, Site, Wrong, said};
use super::glob;
use super::levels::{Levels, Taken};
use super::near::shown;
use super::source::{self, Source};
use super::value::{self, Part};
use crate::door;

/// What was found.
pub(super) struct Found {
    pub(super) lifecycles: Vec<Lifecycle>,
    /// Whether a file could not be read or proved: its name is not known then, so none can be called missing.
    pub(super) is_partial: bool,
}

impl Found {
    /// The newest version of this name.
    pub(super) fn newest(&self, name: &str) -> Option<&Lifecycle> {
        let named = self.lifecycles.iter().filter(|lifecycle| lifecycle.name == name);
        named.max_by_key(|lifecycle| lifecycle.version)
    }
}

/// Reads the files. One of the name of a built-in lifecycle takes its place.
pub(super) fn load(levels: &mut Levels<'_>) -> Found {
    let patterns = levels.take("lifecycles", |raw| Ok((value::texts(raw)?, raw.base.to_path_buf())));
    let mut own = Vec::new();
    let mut is_partial = patterns.is_none() && levels.is_said("lifecycles");
    if let Some(Taken { value: (parts, base), site, .. }) = patterns {
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        levels.set("lifecycles", &texts.join(", "), Some(&site));
        let files = files(levels, &parts, &base, &site);
        is_partial = files.is_none();
        for file in files.unwrap_or_default() {
            match read(&file, &mut levels.flaws) {
                Some(lifecycle) => own.push((file, lifecycle)),
                None => is_partial = true,
            }
        }
    }
    refuse_twins(&own, &mut levels.flaws);
    let mut lifecycles = Lifecycle::built_in();
    lifecycles.retain(|built_in| own.iter().all(|(_, lifecycle)| lifecycle.name != built_in.name));
    lifecycles.extend(own.iter().map(|(_, lifecycle)| lifecycle.clone()));
    if let Some((late, message)) = door::clash(&lifecycles) {
        let file = own.iter().find(|(_, lifecycle)| lifecycle.name == late.name);
        let file = file.map_or_else(|| late.name.to_string(), |(file, _)| file.display().to_string());
        let wrong = Wrong::new(message, "give one of the two another mount");
        levels.flaws.add_elsewhere(Place::Named(file), wrong);
    }
    Found { lifecycles, is_partial }
}

/// The files that the patterns pick, each once; `None` if a pattern picks none, which is told.
fn files(levels: &mut Levels<'_>, parts: &[Part], base: &Path, site: &Site) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut is_whole = true;
    for part in parts {
        let wrong = match glob::expand(base, &part.text) {
            _ if part.text.contains("**") => {
                let message = format!("`{}` has two stars in a row", shown(&part.text));
                Wrong::new(message, "a `*` stands for any part of one name; write a pattern for each folder")
            }
            Ok(found) if found.is_empty() => {
                let message = format!("`{}` picks no file", shown(&part.text));
                let from = if base.as_os_str().is_empty() { Path::new(".") } else { base };
                Wrong::new(message, format!("it is looked for from {}", from.display()))
            }
            Ok(found) => {
                files.extend(found);
                continue;
            }
            Err(error) => {
                let message = format!("`{}` cannot be looked for: {}", shown(&part.text), said(&error));
                Wrong::new(message, "")
            }
        };
        is_whole = false;
        levels.wrong(site, wrong.at(part.at.clone()));
    }
    let mut once = Vec::new();
    for file in files {
        if !once.contains(&file) {
            once.push(file);
        }
    }
    is_whole.then_some(once)
}

/// Reads and proves a file; its flaws become ours.
fn read(file: &Path, flaws: &mut Flaws) -> Option<Lifecycle> {
    let text = match source::read(file, limits::LIFECYCLE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => {
            let place = Place::Named(file.display().to_string());
            flaws.add_elsewhere(place, Wrong::new(format!("cannot be read: {}", said(&error)), ""));
            return None;
        }
    };
    let found = match Lifecycle::parse(&text) {
        Ok(lifecycle) => return Some(lifecycle),
        Err(found) => found,
    };
    let source = Source::new(file.to_path_buf(), text);
    for flaw in found {
        let at = flaw.places.first().map_or(0..0, |place| place.start..place.end);
        let wrong = Wrong::new(format!("{} {}", flaw.rule, flaw.message), flaw.help);
        flaws.add_elsewhere(source.place(at), wrong);
    }
    None
}

/// Two files of one name and version: which one would be meant?
fn refuse_twins(own: &[(PathBuf, Lifecycle)], flaws: &mut Flaws) {
    for (nth, (file, lifecycle)) in own.iter().enumerate() {
        let is_twin = |other: &&(PathBuf, Lifecycle)| {
            other.1.name == lifecycle.name && other.1.version == lifecycle.version
        };
        if let Some((first, _)) = own[..nth].iter().find(is_twin) {
            let (name, version) = (&lifecycle.name, lifecycle.version);
            let message = format!("lifecycle {name} version {version} is in {} too", first.display());
            let place = Place::Named(file.display().to_string());
            flaws.add_elsewhere(place, Wrong::new(message, "rename it, or give it the next version"));
        }
    }
}
