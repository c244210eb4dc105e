//! `tenure webhook …`: manages webhooks.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::request::{NewWebhook, NewWebhookFilter, WebhookReplay};
use tenure_api::{CallId, Webhook};

use crate::args::{OutputFormat, WebhookCommand};
use crate::client::{Answer, Server};
use crate::output::{self, Exit};
use crate::show::{List, text};

const WEBHOOKS: List<Webhook> = List {
    name: |webhook| text(&webhook.id),
    columns: &[
        ("WEBHOOK", |webhook| text(&webhook.id)),
        ("URL", |webhook| text(&webhook.url)),
        ("EVENT", |webhook| text(&webhook.filter.event)),
        ("STATE", state),
        ("STATUS", |webhook| text(&webhook.last_status)),
    ],
    wide_columns: &[
        ("TYPE", |webhook| text(&webhook.filter.job_type)),
        ("LIFECYCLE", |webhook| text(&webhook.filter.lifecycle)),
        ("USER", |webhook| text(&webhook.filter.user_id)),
        ("POSITION", |webhook| text(&webhook.position)),
        ("LAST ERROR", |webhook| text(&webhook.last_error)),
    ],
    pairs: |webhook| {
        vec![
            ("webhook", text(&webhook.id)),
            ("url", text(&webhook.url)),
            ("state", state(webhook)),
            ("last error", text(&webhook.last_error)),
        ]
    },
};

fn state(webhook: &Webhook) -> String {
    match (&webhook.disabled_at, webhook.failures) {
        (Some(_), _) => "disabled".to_owned(),
        (None, 0) => "active".to_owned(),
        (None, 1) => "1 failure".to_owned(),
        (None, failures) => format!("{failures} failures"),
    }
}

pub(crate) async fn run(command: WebhookCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let webhook: Answer<Webhook> = match command {
        WebhookCommand::List => {
            return WEBHOOKS.print(format, &server.page(CallId::ListWebhooks, &[], &Value::Null).await?);
        }
        WebhookCommand::Create { url, id, job_type, lifecycle, event, user } => {
            let filter = Some(NewWebhookFilter { job_type, lifecycle, event, user_id: user });
            server.create_secret(CallId::CreateWebhook, &[], &json!(NewWebhook { id, url, filter })).await?
        }
        WebhookCommand::Disable(args) => server.post(CallId::DisableWebhook, &[&args.id], &json!({})).await?,
        WebhookCommand::Replay { webhook, since, after } => {
            server.post(CallId::ReplayWebhook, &[&webhook.id], &json!(WebhookReplay { after, since })).await?
        }
        WebhookCommand::Enable(args) => server.post(CallId::EnableWebhook, &[&args.id], &json!({})).await?,
        WebhookCommand::Delete(args) => server.get(CallId::DeleteWebhook, &[&args.id]).await?,
    };
    // Only a new webhook has a secret.
    match (format, &webhook.secret) {
        (OutputFormat::Table | OutputFormat::Wide, Some(secret)) => {
            let id = text(&webhook.id);
            output::message(&format!("created webhook {id}; store the secret, it is not shown again"));
            output::data(secret)?;
            Ok(Exit::Done)
        }
        _ => WEBHOOKS.print_one(format, &webhook),
    }
}
