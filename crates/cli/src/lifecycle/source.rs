//! A lifecycle by its name or its file. Whatever a path leads to, the answer is a clean sentence and an exit code.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use tenure_core::lifecycle::{BUILT_IN, Flaw, Lifecycle, Place, RuleId};
use tenure_core::limits;

use crate::output::Exit;

/// A text that claims to be a lifecycle.
pub(super) struct Source {
    /// As the caller named it.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) lifecycle: Result<Lifecycle, Vec<Flaw>>,
}

/// What a name leads to.
pub(super) enum Found {
    Source(Box<Source>),
    /// Why it leads nowhere.
    Not(String, Exit),
}

/// Looks for a file first, then among those that are built in.
pub(super) fn find(name: &str) -> Found {
    if let Some((text, lifecycle)) = built_in(name).filter(|_| !Path::new(name).exists()) {
        return Found::Source(Box::new(Source { name: name.to_owned(), text, lifecycle: Ok(lifecycle) }));
    }
    match read(Path::new(name)) {
        Ok(bytes) => Found::Source(Box::new(parse(name, bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Not(not_found(name), Exit::NotFound),
        Err(error) => Found::Not(format!("tenure: {name}: {}", said(&error)), Exit::Failed),
    }
}

fn built_in(name: &str) -> Option<(String, Lifecycle)> {
    let found = Lifecycle::built_in().into_iter().zip(BUILT_IN).find(|(lifecycle, _)| lifecycle.name == name);
    found.map(|(lifecycle, text)| (text.to_owned(), lifecycle))
}

/// Reads no more than it takes to know that a file is too large: it might be endless.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limits::LIFECYCLE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(name: &str, bytes: Vec<u8>) -> Source {
    let too_large = bytes.len() > limits::LIFECYCLE_BYTES_MAX;
    let (text, lifecycle) = match String::from_utf8(bytes) {
        Ok(text) => {
            let lifecycle = Lifecycle::parse(&text);
            (text, lifecycle)
        }
        // The cut may have gone through a character; that it is too large is what counts.
        Err(error) if too_large => {
            (String::new(), Lifecycle::parse(&String::from_utf8_lossy(error.as_bytes())))
        }
        Err(error) => {
            (String::new(), Err(vec![not_text(error.utf8_error().valid_up_to(), error.as_bytes())]))
        }
    };
    Source { name: name.to_owned(), text, lifecycle }
}

fn not_text(at: usize, bytes: &[u8]) -> Flaw {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let line = before.split('\n').count();
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    Flaw {
        rule: RuleId::Syntax,
        message: "this is not text: a lifecycle is a TOML file in UTF-8".to_owned(),
        places: vec![Place { start: at, end: at, line, column, label: "not UTF-8".to_owned() }],
        help: "is this the right file?".to_owned(),
    }
}

fn not_found(name: &str) -> String {
    let looks_like_a_path = name.contains('/') || name.contains('.');
    if looks_like_a_path {
        return format!("tenure: there is no file {name}");
    }
    let names: Vec<String> =
        Lifecycle::built_in().iter().map(|lifecycle| lifecycle.name.to_string()).collect();
    format!("tenure: there is no lifecycle and no file {name}; built in are {}", names.join(", "))
}

/// The common ones in our own words.
fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::IsADirectory => "is a directory; name the files in it".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is a file".to_owned(),
        io::ErrorKind::PermissionDenied => "may not be read".to_owned(),
        _ => error.to_string(),
    }
}
