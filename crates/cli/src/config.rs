//! `tenure config`: every setting of the server, and where it came from.

use anyhow::Result;
use serde_json::json;
use tenure_config::{ConfigError, Flags};

use crate::args::{Config, Form};
use crate::output::{self, Exit};
use crate::show::List;

const SETTINGS: List = List {
    plural: "settings",
    name: "name",
    columns: &[
        ("SETTING", |setting| crate::show::text(&setting["name"])),
        ("VALUE", |setting| crate::show::text(&setting["value"])),
        ("ORIGIN", |setting| crate::show::text(&setting["origin"])),
    ],
    more: &[],
};

pub(crate) fn run(args: Config, form: Form) -> Result<Exit> {
    let flags = Flags { config: args.config, ..Flags::default() };
    let loaded = match tenure_config::load(&flags, |name| std::env::var(name).ok()) {
        Ok(loaded) => loaded,
        Err(error) => {
            output::words(&format!("tenure: {error}"));
            return Ok(match error {
                ConfigError::Unreadable { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
                    Exit::NotFound
                }
                ConfigError::Unreadable { .. } => Exit::Failed,
                ConfigError::Flawed(_) => Exit::Flawed,
            });
        }
    };
    let settings = loaded.config.settings.iter().map(|setting| {
        json!({ "name": setting.name, "value": setting.value, "origin": setting.origin.to_string() })
    });
    let file = loaded.file.as_ref().map(|file| file.display().to_string());
    SETTINGS.print(form, &json!({ "file": file, "settings": settings.collect::<Vec<_>>() }))?;
    if file.is_none() && matches!(form, Form::Table | Form::Wide) {
        output::words(&format!("no file was read: there is no {} in this folder", tenure_config::DEFAULT_FILE));
    }
    Ok(Exit::Done)
}
