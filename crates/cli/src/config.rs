//! `tenure config`: every server setting with its value and origin, and `tenure config check`.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use tenure_config::{ConfigError, DEFAULT_FILE, Flags, Flaw, Loaded, Setting};

use crate::args::OutputFormat;
use crate::output::{self, CliError, Exit};

fn load(config: Option<PathBuf>) -> Result<Loaded, ConfigError> {
    let flags = Flags { config, ..Flags::default() };
    tenure_config::load(&flags, |name| std::env::var(name).ok())
}

/// Why a configuration cannot be used, with the exit code of the process.
pub(crate) fn explain(error: &ConfigError) -> CliError {
    let exit = match error {
        ConfigError::Unreadable { error, .. } if error.kind() == io::ErrorKind::NotFound => Exit::NotFound,
        ConfigError::Unreadable { .. } => Exit::Failed,
        ConfigError::Flawed(_) => Exit::Invalid,
    };
    CliError::new(exit, error.to_string())
}

/// Checks the configuration and the files that it names, as a start would, without a store.
pub(crate) fn check(config: Option<PathBuf>, format: OutputFormat) -> Result<Exit> {
    let loaded = match load(config) {
        Ok(loaded) => loaded,
        Err(ConfigError::Flawed(flaws)) if is_json(format) => {
            let flaw =
                |it: &Flaw| json!({ "place": it.place.to_string(), "message": it.message, "help": it.help });
            output::json(format, &json!({ "flaws": flaws.iter().map(flaw).collect::<Vec<_>>() }))?;
            return Ok(Exit::Invalid);
        }
        Err(error) => return Err(explain(&error).into()),
    };
    let found = tenure_server::check(&loaded.config);
    let file = loaded
        .file
        .as_ref()
        .map_or_else(|| "the default configuration".to_owned(), |file| file.display().to_string());
    if is_json(format) {
        let flaws: Vec<_> =
            found.iter().map(|message| json!({ "place": file, "message": message, "help": "" })).collect();
        output::json(format, &json!({ "flaws": flaws }))?;
    } else if found.is_empty() {
        let definitions = &loaded.config.definitions;
        let count = |count: usize, noun: &str| {
            if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
        };
        let (types, lifecycles) =
            (count(definitions.types.len(), "type"), count(definitions.lifecycles.len(), "lifecycle"));
        output::message(&format!("{file} is valid: {types}, {lifecycles}"));
    } else {
        return Err(CliError::new(Exit::Invalid, format!("{file}: {}", found.join("\n"))).into());
    }
    Ok(if found.is_empty() { Exit::Done } else { Exit::Invalid })
}

fn is_json(format: OutputFormat) -> bool {
    matches!(format, OutputFormat::Json | OutputFormat::Jsonl)
}

pub(crate) fn run(config: Option<PathBuf>, format: OutputFormat) -> Result<Exit> {
    let loaded = load(config).map_err(|error| explain(&error))?;
    let setting =
        |setting: &Setting| json!({ "name": setting.name, "value": setting.value, "origin": setting.origin });
    let settings = loaded.config.settings.iter();
    let file = loaded.file.as_ref().map(|file| file.display().to_string());
    match format {
        OutputFormat::Json => {
            let settings: Vec<_> = settings.map(setting).collect();
            output::json(format, &json!({ "file": file, "settings": settings }))?;
        }
        OutputFormat::Jsonl => settings.map(setting).try_for_each(|it| output::json(format, &it))?,
        OutputFormat::Name => settings.map(|it| &it.name).try_for_each(|name| output::data(name))?,
        OutputFormat::Table | OutputFormat::Wide => {
            let row = |it: &Setting| vec![it.name.clone(), it.value.clone(), it.origin.clone()];
            output::table(&["SETTING", "VALUE", "ORIGIN"], &settings.map(row).collect::<Vec<_>>())?;
            if file.is_none() {
                output::message(&format!("no configuration file: there is no {DEFAULT_FILE} in this folder"));
            }
        }
    }
    Ok(Exit::Done)
}
