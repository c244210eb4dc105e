//! `tenure verify`: prints each difference between histories and stored rows to stdout, and a summary to stderr.

use std::io;
use std::path::PathBuf;

use serde_json::json;
use tenure_config::{DatabaseUrl, StoreLocation};
use tenure_core::fold::Difference;
use tenure_store::{Store, StoreError};

use crate::args::OutputFormat;
use crate::output::{self, CliError, Exit};

/// The store that the flags name, or else the environment.
pub(crate) fn location(data: Option<PathBuf>, database_url: Option<String>) -> StoreLocation {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let database = |url: String| StoreLocation::Database(DatabaseUrl::new(url));
    let given = data.map(StoreLocation::Data).or_else(|| database_url.map(database));
    let by_variable = || {
        let data = || variable("TENURE_DATA").unwrap_or_else(|| "./tenure-data".to_owned());
        let named = variable("TENURE_DATABASE_URL").map(database);
        named.unwrap_or_else(|| StoreLocation::Data(data().into()))
    };
    given.unwrap_or_else(by_variable)
}

pub(crate) fn run(
    location: StoreLocation,
    database_schema: &str,
    format: OutputFormat,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let is_database = matches!(location, StoreLocation::Database(_));
        let opened = match location {
            StoreLocation::Database(url) => Store::connect_to(url.reveal(), database_schema).await,
            StoreLocation::Data(data) if !data.is_dir() => {
                let message = format!("there is no store in {}", data.display());
                return Err(CliError::new(Exit::NotFound, message)
                    .help("name its folder with --data, or a database with --database-url")
                    .into());
            }
            StoreLocation::Data(data) => Store::open_to_read(&data).await,
        };
        match opened {
            Ok(store) => report(&store, format).await,
            Err(error @ StoreError::Unavailable(_)) if is_database => {
                Err(CliError::new(Exit::Unreachable, error.to_string()).into())
            }
            Err(error) => Err(error.into()),
        }
    })
}

/// Verifies a store, and prints what was found.
pub(crate) async fn report(store: &Store, format: OutputFormat) -> anyhow::Result<Exit> {
    let mut printed: io::Result<()> = Ok(());
    let verified = tenure_runtime::verify(store, |difference| {
        if printed.is_ok() {
            printed = print(difference, format);
        }
    })
    .await?;
    printed?;
    let (jobs, events, accounts) = (verified.jobs, verified.events, verified.accounts);
    let found = match verified.differences {
        0 => "no difference".to_owned(),
        1 => "1 difference".to_owned(),
        n => format!("{n} differences"),
    };
    output::message(&format!("{jobs} jobs, {events} events and {accounts} accounts: {found}"));
    Ok(if verified.differences == 0 { Exit::Done } else { Exit::Failed })
}

fn print(difference: &Difference, format: OutputFormat) -> io::Result<()> {
    let Difference { job, law, what } = difference;
    match format {
        OutputFormat::Table | OutputFormat::Wide => output::data(&difference.to_string()),
        // One document per line in both, so that differences are printed as they are found.
        OutputFormat::Json | OutputFormat::Jsonl => {
            output::json(OutputFormat::Jsonl, &json!({ "job": job, "law": law, "what": what }))
        }
        OutputFormat::Name => job.map_or(Ok(()), |job| output::data(&job.to_string())),
    }
}
