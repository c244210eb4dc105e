//! A payload from the command line: JSON itself, a file, or stdin.

use std::io::Read as _;

use anyhow::Result;
use serde_json::Value;
use tenure_core::json::Json;

use crate::output::{Exit, Trouble};

/// Reads what `-p` names.
pub(crate) fn read(named: &str) -> Result<Value> {
    let (text, whence) = match named.strip_prefix('@') {
        Some(file) => (from_file(file)?, file),
        None if named == "-" => (from_stdin()?, "stdin"),
        None => (named.to_owned(), "the payload"),
    };
    // As strict as the server is, whose judge would not see a key that came twice.
    let json = Json::parse(&text).map_err(|why| {
        let trouble = Trouble::new(Exit::Flawed, format!("{whence} is not accepted: {why}"));
        trouble.help("write -p '{\"name\": \"value\"}', -p @FILE, or -p - for stdin")
    })?;
    Ok(json.to_value())
}

fn from_file(file: &str) -> Result<String> {
    std::fs::read_to_string(file).map_err(|why| {
        let exit = match why.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            std::io::ErrorKind::InvalidData => Exit::Flawed,
            _ => Exit::Failed,
        };
        Trouble::new(exit, format!("{file} cannot be read: {why}")).into()
    })
}

fn from_stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|why| {
        let exit = if why.kind() == std::io::ErrorKind::InvalidData { Exit::Flawed } else { Exit::Failed };
        Trouble::new(exit, format!("stdin cannot be read: {why}"))
    })?;
    Ok(text)
}
