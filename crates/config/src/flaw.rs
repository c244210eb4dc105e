//! A flaw in the configuration: its place, a message, and help to fix it.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use crate::source::Source;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file that was named, or the default one, cannot be read.
    #[error("cannot read the configuration file {}: {}", file.display(), io_reason(error))]
    Unreadable { file: PathBuf, error: io::Error },
    /// All flaws, in the order of the file; never empty.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n"))]
    Flawed(Vec<Flaw>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    pub place: Place,
    pub message: String,
    pub help: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the configuration file, or in a lifecycle file that it names. Lines and columns count from 1.
    File {
        file: PathBuf,
        line: usize,
        column: usize,
        /// The line, passwords hidden; `None` if it is too long to print.
        text: Option<String>,
        /// The first character to underline, from 0, and how many; `None` if hiding a password moved it.
        underline: Option<(usize, usize)>,
    },
    /// In the environment variable, flag or file of this name.
    Named(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::File { file, line, column, .. } => write!(f, "{}:{line}:{column}", file.display()),
        }
    }
}

impl fmt::Display for Flaw {
    /// The place and the message, the line with the flaw underlined, the help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut margin = 1;
        write!(f, "{}: {}", self.place, self.message)?;
        if let Place::File { line, text, underline, .. } = &self.place {
            margin = line.to_string().len();
            if let Some(text) = text {
                write!(f, "\n{:margin$} |\n{line} | {text}\n{:margin$} |", "", "")?;
                if let Some((start, width)) = underline {
                    write!(f, " {:start$}{}", "", "^".repeat((*width).max(1)))?;
                }
            }
        }
        if self.help.is_empty() { Ok(()) } else { write!(f, "\n{:margin$} = {}", "", self.help) }
    }
}

/// What is wrong with a value, before its place is known.
pub(crate) struct ValueError {
    /// The part of the value at fault; `None` for all of it.
    pub(crate) at: Option<Range<usize>>,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl ValueError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), help: help.into() }
    }

    pub(crate) fn at(mut self, at: Option<Range<usize>>) -> Self {
        self.at = at;
        self
    }
}

/// Where a value was set: bytes of the configuration file, or the name of a variable or flag.
#[derive(Clone, Debug)]
pub(crate) enum Site {
    File(Range<usize>),
    Named(String),
}

#[derive(Default)]
pub(crate) struct Flaws {
    /// With the offset in the configuration file; flaws elsewhere sort after all of those.
    found: Vec<(usize, Flaw)>,
}

impl Flaws {
    /// Adds a flaw of the configuration file.
    pub(crate) fn add(&mut self, source: &Source, at: Range<usize>, error: ValueError) {
        let at = error.at.unwrap_or(at);
        let flaw = Flaw { place: source.place(at.clone()), message: error.message, help: error.help };
        if !self.found.iter().any(|(_, other)| *other == flaw) {
            self.found.push((at.start, flaw));
        }
    }

    /// Adds a flaw of another file, an environment variable or a flag.
    pub(crate) fn add_elsewhere(&mut self, place: Place, error: ValueError) {
        self.found.push((usize::MAX, Flaw { place, message: error.message, help: error.help }));
    }

    /// The file's flaws in its order, then the others.
    pub(crate) fn into_sorted(mut self) -> Vec<Flaw> {
        self.found.sort_by_key(|(start, _)| *start);
        self.found.into_iter().map(|(_, flaw)| flaw).collect()
    }
}

/// A short reason for the usual errors, without an error number.
pub(crate) fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::NotADirectory => "part of the path is a file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::InvalidData => "it is not valid UTF-8".to_owned(),
        _ => error.to_string(),
    }
}
