//! One thing wrong with a configuration, told so that it can be mended: where, what, and what would do.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use super::source::Source;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file that was named, or the default one, could not be read.
    #[error("the configuration file {} cannot be read: {}", file.display(), said(error))]
    Unreadable {
        /// As it was named.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Everything that is wrong, in the order of the file; never empty.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n"))]
    Flawed(Vec<Flaw>),
}

/// One thing wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Where.
    pub place: Place,
    /// What, in one line.
    pub message: String,
    /// What would mend it.
    pub help: String,
}

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file: the configuration, or a lifecycle that it names.
    File {
        /// As it was named.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The line, passwords hidden; `None` if it is too long to help.
        text: Option<String>,
        /// What to underline: the first character, from 0, and how many; none if it would be misplaced.
        underline: Option<(usize, usize)>,
    },
    /// In the environment variable or the flag of this name.
    Named(String),
}

impl fmt::Display for Flaw {
    /// The place and the message, a picture of the line, the help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = &self.message;
        let mut margin = 1;
        match &self.place {
            Place::Named(name) => write!(f, "{name}: {message}")?,
            Place::File { file, line, column, text, underline } => {
                write!(f, "{}:{line}:{column}: {message}", file.display())?;
                margin = line.to_string().len();
                if let Some(text) = text {
                    write!(f, "\n{:margin$} |\n{line} | {text}\n{:margin$} |", "", "")?;
                    if let Some((start, width)) = underline {
                        write!(f, " {:start$}{}", "", "^".repeat((*width).max(1)))?;
                    }
                }
            }
        }
        if self.help.is_empty() { Ok(()) } else { write!(f, "\n{:margin$} = {}", "", self.help) }
    }
}

/// What is wrong with a value; its place is added by whoever knows it.
pub(super) struct Wrong {
    /// A part of the value, if it is not the whole.
    pub(super) at: Option<Range<usize>>,
    pub(super) message: String,
    pub(super) help: String,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), help: help.into() }
    }

    pub(super) fn at(mut self, at: Option<Range<usize>>) -> Self {
        self.at = at;
        self
    }
}

/// Where a value stands, before lines are counted.
#[derive(Clone, Debug)]
pub(super) enum Site {
    /// These bytes of the configuration file.
    File(Range<usize>),
    /// The environment variable of this name.
    Variable(String),
    /// The flag of this name.
    Flag(String),
}

/// Gathers flaws.
#[derive(Default)]
pub(super) struct Flaws {
    /// With the byte of the configuration file; those from elsewhere come after all of its own.
    found: Vec<(usize, Flaw)>,
}

impl Flaws {
    /// In the configuration file.
    pub(super) fn add(&mut self, source: &Source, at: Range<usize>, wrong: Wrong) {
        let at = wrong.at.unwrap_or(at);
        let flaw = Flaw { place: source.place(at.clone()), message: wrong.message, help: wrong.help };
        if !self.found.iter().any(|(_, other)| *other == flaw) {
            self.found.push((at.start, flaw));
        }
    }

    /// In another file, in an environment variable or in a flag.
    pub(super) fn add_elsewhere(&mut self, place: Place, wrong: Wrong) {
        self.found.push((usize::MAX, Flaw { place, message: wrong.message, help: wrong.help }));
    }

    /// All of them: the file's in its order, then the others.
    pub(super) fn into_sorted(mut self) -> Vec<Flaw> {
        self.found.sort_by_key(|(start, _)| *start);
        self.found.into_iter().map(|(_, flaw)| flaw).collect()
    }
}

/// The common ones in our own words.
pub(super) fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is a file".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        io::ErrorKind::InvalidData => "it is not text in UTF-8".to_owned(),
        _ => error.to_string(),
    }
}
