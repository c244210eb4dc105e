//! `tenure config`: every server setting with its value and origin.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use tenure_config::{ConfigError, DEFAULT_FILE, Flags, Setting};

use crate::args::OutputFormat;
use crate::output::{self, CliError, Exit};

pub(crate) fn run(config: Option<PathBuf>, format: OutputFormat) -> Result<Exit> {
    let flags = Flags { config, ..Flags::default() };
    let loaded = tenure_config::load(&flags, |name| std::env::var(name).ok()).map_err(|error| {
        let exit = match &error {
            ConfigError::Unreadable { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Exit::NotFound
            }
            ConfigError::Unreadable { .. } => Exit::Failed,
            ConfigError::Flawed(_) => Exit::Invalid,
        };
        CliError::new(exit, error.to_string())
    })?;
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
