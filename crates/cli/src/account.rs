//! `tenure account …`: shows and grants credits.

use anyhow::Result;
use serde_json::json;
use tenure_api::{Account, CallId, LedgerLine};

use crate::args::{AccountCommand, OutputFormat};
use crate::client::{Answer, PAGE_ROWS_MAX, Server};
use crate::output::{self, Exit};
use crate::show::{self, text};

pub(crate) async fn run(command: AccountCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    match command {
        AccountCommand::Get(args) => {
            let query = json!({ "limit": PAGE_ROWS_MAX });
            let account = server.get_with(CallId::GetCredits, &[&args.user], &query).await?;
            print(format, &args.user, &account)
        }
        AccountCommand::Grant(args) => {
            let body = json!({ "grant": args.credits, "reason": args.reason });
            print(format, &args.user, &server.post(CallId::GrantCredits, &[&args.user], &body).await?)
        }
    }
}

fn print(format: OutputFormat, user: &str, account: &Answer<Account>) -> Result<Exit> {
    show::one(format, account, user, || {
        vec![
            ("user", show::plain(user)),
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
        output::data("\n")?;
        output::table(
            &["TIME", "KIND", "AMOUNT", "JOB", "REASON"],
            &account.ledger.iter().map(row).collect::<Vec<_>>(),
        )?;
    }
    Ok(Exit::Done)
}
