//! `tenure verify`: every difference as a line of data, the sum of it in words.

use std::io;

use serde_json::json;
use tenure_core::fold::Difference;
use tenure_store::{AnyStore, StoreError};

use crate::args::{Form, Verify};
use crate::output::{self, Exit};

pub(crate) fn run(verify: &Verify, form: Form) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let opened = match &verify.database_url {
            Some(url) => AnyStore::connect(url).await,
            None if !verify.data.is_dir() => {
                output::words(&format!("tenure: there is no store in {}", verify.data.display()));
                return Ok(Exit::NotFound);
            }
            None => AnyStore::open_to_read(&verify.data).await,
        };
        match opened {
            Ok(store) => report(&store, form).await,
            Err(error @ StoreError::Unavailable(_)) if verify.database_url.is_some() => {
                output::words(&format!("tenure: {error}"));
                Ok(Exit::Unreachable)
            }
            Err(error) => Err(error.into()),
        }
    })
}

async fn report(store: &AnyStore, form: Form) -> anyhow::Result<Exit> {
    let mut told: io::Result<()> = Ok(());
    let seen = tenure_runtime::verify(store, |difference| {
        if told.is_ok() {
            told = tell(difference, form);
        }
    })
    .await?;
    told?;
    let (jobs, events, accounts) = (seen.jobs, seen.events, seen.accounts);
    let found = match seen.differences {
        0 => "no difference".to_owned(),
        1 => "1 difference".to_owned(),
        n => format!("{n} differences"),
    };
    output::words(&format!("{jobs} jobs, {events} events and {accounts} accounts: {found}"));
    Ok(if seen.differences == 0 { Exit::Done } else { Exit::Failed })
}

fn tell(difference: &Difference, form: Form) -> io::Result<()> {
    let Difference { job, law, what } = difference;
    match form {
        Form::Table | Form::Wide => output::data(&difference.to_string()),
        // One document a line in both: a whole one could not be streamed.
        Form::Json | Form::Jsonl => {
            output::json(Form::Jsonl, &json!({ "job": job, "law": law, "what": what }))
        }
        Form::Name => job.map_or(Ok(()), |job| output::data(&job.to_string())),
    }
}
