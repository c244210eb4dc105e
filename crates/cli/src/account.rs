//! `tenure account …`: what a user may spend.

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::{AccountCommand, Form};
use crate::client::{Query, Server, escaped};
use crate::output::{self, Exit};
use crate::show::{self, text};

/// Runs one.
pub(crate) async fn run(command: AccountCommand, server: &Server, form: Form) -> Result<Exit> {
    match command {
        AccountCommand::Get(args) => {
            let query = Query::new().with("limit", Some(500));
            print(form, &args.user, &server.get(&path(&args.user), &query).await?)
        }
        AccountCommand::Grant(args) => {
            let body = json!({ "grant": args.credits, "reason": args.reason });
            print(form, &args.user, &server.post(&path(&args.user), &body).await?)
        }
    }
}

fn path(user: &str) -> String {
    format!("/api/accounts/{}/credits", escaped(user))
}

fn print(form: Form, user: &str, account: &Value) -> Result<Exit> {
    if form == Form::Name {
        output::data(&show::plain(user))?;
        return Ok(Exit::Done);
    }
    show::one(form, account, "", || {
        let counted = |name: &'static str| (name, text(&account[name]));
        vec![
            ("user", show::plain(user)),
            counted("granted"),
            counted("reserved"),
            counted("spent"),
            counted("available"),
        ]
    })?;
    if form == Form::Wide {
        let lines = account["ledger"].as_array().cloned().unwrap_or_default();
        let cells = |line: &Value| {
            ["ts", "kind", "amount", "job_id", "reason"].map(|name| text(&line[name])).to_vec()
        };
        output::data("\n")?;
        output::table(
            &["TIME", "KIND", "AMOUNT", "JOB", "REASON"],
            &lines.iter().map(cells).collect::<Vec<_>>(),
        )?;
    }
    Ok(Exit::Done)
}
