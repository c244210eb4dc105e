//! `tenure webhook …`: manages webhooks.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::{CallId, Webhook};

use crate::args::{OutputFormat, WebhookCommand, WebhookCreateArgs};
use crate::client::{Answer, Server};
use crate::output::{self, Exit};
use crate::show::{self, List, text};

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
    let webhook = match command {
        WebhookCommand::List => {
            WEBHOOKS.print(format, &server.page(CallId::ListWebhooks, &[], &Value::Null).await?)?;
            return Ok(Exit::Done);
        }
        WebhookCommand::Create(args) => return create(&args, server, format).await,
        WebhookCommand::Enable(args) => server.post(CallId::EnableWebhook, &[&args.id], &json!({})).await?,
        WebhookCommand::Delete(args) => server.get(CallId::DeleteWebhook, &[&args.id]).await?,
    };
    print(format, &webhook)
}

async fn create(args: &WebhookCreateArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let filter = [
        ("type", &args.job_type),
        ("lifecycle", &args.lifecycle),
        ("event", &args.event),
        ("user_id", &args.user),
    ];
    let filter: serde_json::Map<String, Value> = filter
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))))
        .collect();
    let mut body = json!({ "url": args.url, "filter": filter });
    if let Some(id) = &args.id {
        body["id"] = json!(id);
    }
    let webhook: Answer<Webhook> = server.create_secret(CallId::CreateWebhook, &body).await?;
    match (format, &webhook.secret) {
        (OutputFormat::Table | OutputFormat::Wide, Some(secret)) => {
            let id = text(&webhook.id);
            output::message(&format!("created webhook {id}; store the secret, it is not shown again"));
            output::data(secret)?;
            Ok(Exit::Done)
        }
        _ => print(format, &webhook),
    }
}

fn print(format: OutputFormat, webhook: &Answer<Webhook>) -> Result<Exit> {
    show::one(format, webhook, &webhook.id, || {
        vec![
            ("webhook", text(&webhook.id)),
            ("url", text(&webhook.url)),
            ("state", state(webhook)),
            ("last error", text(&webhook.last_error)),
        ]
    })?;
    Ok(Exit::Done)
}
