//! `tenure webhook …`: events, sent to a URL.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_client::Method;

use crate::args::{Form, WebhookCommand, WebhookCreate};
use crate::client::{Query, Server, escaped};
use crate::output::{self, Exit};
use crate::show::{self, List, text};

const WEBHOOKS: List = List {
    plural: "webhooks",
    name: "id",
    columns: &[
        ("WEBHOOK", |webhook| text(&webhook["id"])),
        ("URL", |webhook| text(&webhook["url"])),
        ("EVENT", |webhook| text(&webhook["filter"]["event"])),
        ("STATE", state),
        ("STATUS", |webhook| text(&webhook["last_status"])),
    ],
    more: &[
        ("TYPE", |webhook| text(&webhook["filter"]["type"])),
        ("LIFECYCLE", |webhook| text(&webhook["filter"]["lifecycle"])),
        ("USER", |webhook| text(&webhook["filter"]["user_id"])),
        ("POSITION", |webhook| text(&webhook["position"])),
        ("LAST ERROR", |webhook| text(&webhook["last_error"])),
    ],
};

fn state(webhook: &Value) -> String {
    match (&webhook["disabled_at"], webhook["failures"].as_u64()) {
        (Value::String(_), _) => "disabled".to_owned(),
        (_, Some(failures @ 1..)) => format!("failed {failures} times"),
        _ => "sends".to_owned(),
    }
}

/// Runs one.
pub(crate) async fn run(command: WebhookCommand, server: &Server, form: Form) -> Result<Exit> {
    let path = |id: &str| format!("/api/webhooks/{}", escaped(id));
    let answer = match command {
        WebhookCommand::List => {
            WEBHOOKS.print(form, &server.get("/api/webhooks", &Query::new()).await?)?;
            return Ok(Exit::Done);
        }
        WebhookCommand::Create(args) => return create(&args, server, form).await,
        WebhookCommand::Enable(args) => server.client.enable_webhook(&args.id).await?,
        WebhookCommand::Delete(args) => server.client.call(Method::DELETE, &path(&args.id), None).await?,
    };
    print(form, &answer)
}

async fn create(args: &WebhookCreate, server: &Server, form: Form) -> Result<Exit> {
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
    let answer = server.client.create_webhook(&body).await?;
    match (form, answer["secret"].as_str()) {
        (Form::Table | Form::Wide, Some(secret)) => {
            output::words(&format!(
                "webhook {}: keep its secret, it is not shown again",
                text(&answer["id"])
            ));
            output::data(secret)?;
            Ok(Exit::Done)
        }
        _ => print(form, &answer),
    }
}

fn print(form: Form, webhook: &Value) -> Result<Exit> {
    show::one(form, webhook, "id", || {
        vec![
            ("webhook", text(&webhook["id"])),
            ("url", text(&webhook["url"])),
            ("state", state(webhook)),
            ("last error", text(&webhook["last_error"])),
        ]
    })?;
    Ok(Exit::Done)
}
