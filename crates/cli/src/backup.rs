//! `tenure backup` and `tenure restore`.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use tenure_store::{BackupError, Restoration, StoreError};

use crate::args::OutputFormat;
use crate::output::{self, CliError, Exit};
use crate::verify;

pub(crate) fn back_up(data: &Path, file: &Path, format: OutputFormat) -> Result<Exit> {
    let store = data.display();
    if !data.is_dir() {
        let error = CliError::new(Exit::NotFound, format!("there is no store in {store}"));
        return Err(error.help("name its folder with --data").into());
    }
    let summary = tenure_store::back_up(data, file).map_err(explain)?;
    let (file, bytes, taken_at) = (file.display().to_string(), summary.bytes, summary.taken_at);
    match format {
        OutputFormat::Table | OutputFormat::Wide => {
            output::message(&format!("backup of {store} as of {taken_at} in {file}: {bytes} bytes"));
        }
        OutputFormat::Json | OutputFormat::Jsonl => {
            output::json(format, &json!({ "file": file, "bytes": bytes, "taken_at": taken_at }))?;
        }
        OutputFormat::Name => output::data(&file)?,
    }
    let mut assets = data.join("assets").read_dir().into_iter().flatten();
    if assets.next().is_some() {
        output::message(&format!("the content of assets is not in it: copy {store}/assets, too"));
    }
    Ok(Exit::Done)
}

pub(crate) fn restore(file: &Path, data: &Path, format: OutputFormat) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let restoration = runtime.block_on(Restoration::begin(file, data)).map_err(explain)?;
    let verified = runtime.block_on(verify::report(restoration.store(), format))?;
    if verified != Exit::Done {
        let message = format!("{} was not restored: the store in it has differences", file.display());
        return Err(CliError::new(verified, message).help("restore an earlier backup").into());
    }
    restoration.finish().map_err(explain)?;
    output::message(&format!("{} restored to {}", file.display(), data.display()));
    Ok(Exit::Done)
}

fn explain(error: BackupError) -> CliError {
    let message = error.to_string();
    match error {
        BackupError::Exists(_) => {
            CliError::new(Exit::Refused, message).help("choose another file with --to, or remove this one")
        }
        BackupError::NotEmpty(_) => CliError::new(Exit::Refused, message)
            .help("choose another folder with --data, or move its content away"),
        BackupError::Invalid { .. } => {
            CliError::new(Exit::Invalid, message).help("use another file that `tenure backup` has written")
        }
        BackupError::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
            CliError::new(Exit::NotFound, message)
        }
        BackupError::Store(StoreError::Corrupt { .. }) => CliError::new(Exit::Failed, message)
            .help("see what is damaged with `tenure verify`; the last backup is not affected"),
        BackupError::Io { .. } | BackupError::Store(_) => CliError::new(Exit::Failed, message),
    }
}
