//! `tenure account …`: shows and grants credits.

use anyhow::Result;
use serde_json::json;
use tenure_api::request::Grant;
use tenure_api::{Account, CallId, LedgerLine};

use crate::args::{AccountCommand, OutputFormat};
use crate::client::{Answer, PAGE_ROWS_MAX, Server};
use crate::output::{self, Exit};
use crate::show::{self, text};

pub(crate) async fn run(command: AccountCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let (user, account): (String, Answer<Account>) = match command {
        AccountCommand::Get { user } => {
            let query = json!({ "limit": PAGE_ROWS_MAX });
            let account = server.get_with(CallId::GetCredits, &[&user], &query).await?;
            (user, account)
        }
        AccountCommand::Grant { user, credits, reason } => {
            let body = json!(Grant { grant: credits, reason });
            let account = server.post(CallId::GrantCredits, &[&user], &body).await?;
            (user, account)
        }
    };
    show::one(format, &account, &show::plain(&user), || {
        vec![
            ("user", show::plain(&user)),
            ("granted", text(&account.granted)),
            ("reserved", text(&account.reserved)),
            ("spent", text(&account.spent)),
            ("available", text(&account.available)),
        ]
    })?;
    if format == OutputFormat::Wide {
        let row = |line: &LedgerLine| {
            vec![text(&line.ts), text(&line.kind), text(&line.amount), text(&line.job_id), text(&line.reason)]
        };
        let rows: Vec<_> = account.ledger.iter().map(row).collect();
        output::data("\n")?;
        output::table(&["TIME", "KIND", "AMOUNT", "JOB", "REASON"], &rows)?;
    }
    Ok(Exit::Done)
}
