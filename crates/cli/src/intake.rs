//! `tenure intake install`: functions, table and role with which an application requests jobs in its own transactions.

use anyhow::Result;
use tenure_store::{Outbox, StoreError, intake_script};

use crate::args::IntakeCommand;
use crate::output::{self, CliError, Exit};

pub(crate) fn run(command: &IntakeCommand) -> Result<Exit> {
    let IntakeCommand::Install { database_url, database_schema, print } = command;
    let Some(url) = database_url.as_deref().filter(|_| !print) else {
        if !print {
            let error = CliError::new(Exit::Usage, "there is no database to install the intake in");
            return Err(error.help("name it with --database-url, or print the SQL with --print").into());
        }
        output::data(intake_script(database_schema)?.trim_end())?;
        return Ok(Exit::Done);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let outbox = Outbox::new(url, database_schema)?;
        match outbox.install().await {
            Ok(()) => {}
            Err(error @ StoreError::Unavailable(_)) => {
                return Err(CliError::new(Exit::Unreachable, error.to_string()).into());
            }
            Err(error) => return Err(error.into()),
        }
        let database = outbox.database();
        output::message(&format!("intake installed in schema {database_schema} of database {database}"));
        Ok(Exit::Done)
    })
}
