//! Payloads on the command line: JSON, a file, or stdin.

use std::io::{self, Read as _};

use anyhow::Result;
use serde_json::Value;
use tenure_core::json::Json;

use crate::output::{CliError, Exit};

/// Reads the value of `-p`.
pub(crate) fn read(value: &str) -> Result<Value> {
    let (source, text) = match value.strip_prefix('@') {
        Some(file) => (file, std::fs::read_to_string(file)),
        None if value == "-" => {
            let mut text = String::new();
            ("stdin", io::stdin().read_to_string(&mut text).map(|_| text))
        }
        None => ("the payload", Ok(value.to_owned())),
    };
    let text = text.map_err(|error| {
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::NotFound,
            io::ErrorKind::InvalidData => Exit::Invalid,
            _ => Exit::Failed,
        };
        CliError::new(exit, format!("cannot read {source}: {error}"))
    })?;
    // The server's own parser: it also rejects duplicate keys.
    let value = Json::parse(&text).and_then(|json| json.to_value()).map_err(|error| {
        CliError::new(Exit::Invalid, format!("{source} is not valid JSON: {error}"))
            .help("pass JSON with -p '{\"name\": \"value\"}', a file with -p @FILE, or stdin with -p -")
    })?;
    Ok(value)
}
