//! `tenure account …`: shows and grants credits, and erases users.

use anyhow::Result;
use serde_json::json;
use tenure_api::request::{Erase, Grant};
use tenure_api::{Account, CallId, ErasureProgress, LedgerLine};

use crate::args::{AccountCommand, OutputFormat};
use crate::client::{Answer, PAGE_ROWS_MAX, Server};
use crate::output::{self, Exit};
use crate::show::{self, text};

pub(crate) async fn run(command: AccountCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let (user, account): (String, Answer<Account>) = match command {
        AccountCommand::Erase { user, reason } => return erase(&user, reason, server, format).await,
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
        let mut rows: Vec<_> = account.ledger.iter().map(row).collect();
        let mut next = account.next_cursor.clone();
        while let Some(cursor) = &next {
            let query = json!({ "limit": PAGE_ROWS_MAX, "cursor": cursor });
            let page: Answer<Account> = server.get_with(CallId::GetCredits, &[&user], &query).await?;
            rows.extend(page.ledger.iter().map(row));
            next.clone_from(&page.next_cursor);
        }
        output::data("\n")?;
        output::table(&["TIME", "KIND", "AMOUNT", "JOB", "REASON"], &rows)?;
    }
    Ok(Exit::Done)
}

async fn erase(user: &str, reason: String, server: &Server, format: OutputFormat) -> Result<Exit> {
    let body = json!(Erase { reason });
    let done: Answer<ErasureProgress> = server.post(CallId::EraseUser, &[user], &body).await?;
    show::one(format, &done, &show::plain(user), || {
        vec![
            ("user", show::plain(user)),
            ("deleted", text(&done.deleted)),
            ("unfinished", text(&done.unfinished)),
            ("complete", if done.complete { "yes" } else { "no" }.to_owned()),
        ]
    })?;
    if !done.complete {
        output::message("the server deletes the rest: unfinished jobs within a minute of their end");
    }
    Ok(Exit::Done)
}
