//! Finds a lifecycle by name or file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use tenure_core::lifecycle::{BUILT_IN, Flaw, Lifecycle, Location, RuleId};
use tenure_core::limits;

use crate::output::{CliError, Exit};

/// The text of a lifecycle, and what it parses to.
pub(super) struct Source {
    /// As given on the command line.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) lifecycle: Result<Lifecycle, Vec<Flaw>>,
}

/// Looks for a file first, then for a built-in lifecycle.
pub(super) fn find(name: &str) -> Result<Source, CliError> {
    if let Some((text, lifecycle)) = built_in(name).filter(|_| !Path::new(name).exists()) {
        return Ok(Source { name: name.to_owned(), text, lifecycle: Ok(lifecycle) });
    }
    match read(Path::new(name)) {
        Ok(bytes) => Ok(parse(name, bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found(name)),
        Err(error) => Err(CliError::new(Exit::Failed, format!("cannot read {name}: {}", reason(&error)))),
    }
}

fn built_in(name: &str) -> Option<(String, Lifecycle)> {
    let found = Lifecycle::built_in().into_iter().zip(BUILT_IN).find(|(lifecycle, _)| lifecycle.name == name);
    found.map(|(lifecycle, text)| (text.to_owned(), lifecycle))
}

/// Reads at most one byte more than the limit: the file might be endless.
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
        // The cut may have split a character; the flaw to report is the size.
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
        message: "this is not a text file: a lifecycle is a TOML file in UTF-8".to_owned(),
        locations: vec![Location { start: at, end: at, line, column, label: "not UTF-8".to_owned() }],
        help: "check the file name".to_owned(),
    }
}

fn not_found(name: &str) -> CliError {
    let looks_like_a_path = name.contains('/') || name.contains('.');
    if looks_like_a_path {
        return CliError::new(Exit::NotFound, format!("there is no file {name}"));
    }
    let names: Vec<String> =
        Lifecycle::built_in().iter().map(|lifecycle| lifecycle.name.to_string()).collect();
    CliError::new(Exit::NotFound, format!("there is no lifecycle and no file {name}"))
        .help(format!("built-in lifecycles are {}", names.join(", ")))
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::IsADirectory => "it is a directory; name the files in it".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is a file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
