//! `tenure key …`: creates, lists and revokes API keys.

use anyhow::Result;
use clap::ValueEnum as _;
use serde_json::{Value, json};
use tenure_api::request::NewKey;
use tenure_api::{ApiKey, CallId};

use crate::args::{KeyCommand, OutputFormat, Role};
use crate::client::{Answer, Page, Server};
use crate::output::{self, CliError, Exit};
use crate::show::{List, age, text, yes_or_no};

const KEYS: List<ApiKey> = List {
    name: |key| text(&key.id),
    columns: &[
        ("KEY", |key| text(&key.id)),
        ("ROLE", |key| text(&key.role)),
        ("USER", |key| text(&key.user_id)),
        ("AGE", |key| age(&key.created_at)),
        ("REVOKED", |key| yes_or_no(key.revoked_at.is_some())),
    ],
    wide_columns: &[("CREATED BY", |key| text(&key.created_by)), ("REVOKED AT", |key| text(&key.revoked_at))],
    pairs: |key| {
        vec![
            ("key", text(&key.id)),
            ("role", text(&key.role)),
            ("user", text(&key.user_id)),
            ("created", text(&key.created_at)),
            ("revoked", text(&key.revoked_at)),
        ]
    },
};

pub(crate) async fn run(command: KeyCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    match command {
        KeyCommand::Create { role, user } => create(role, user, server, format).await,
        KeyCommand::List => KEYS.print(format, &server.page(CallId::ListKeys, &[], &Value::Null).await?),
        KeyCommand::Revoke { id } => {
            let id = resolve(server, &id).await?;
            KEYS.print_one(format, &server.get(CallId::RevokeKey, &[&id]).await?)
        }
    }
}

async fn create(role: Role, user_id: Option<String>, server: &Server, format: OutputFormat) -> Result<Exit> {
    let role = role.to_possible_value().expect("no role is hidden").get_name().to_owned();
    let body = json!(NewKey { role: role.clone(), user_id });
    let key: Answer<ApiKey> = server.create_secret(CallId::CreateKey, &body).await?;
    let id = text(&key.id);
    output::message(&format!("created {role} key {id}; store the secret, it is not shown again"));
    match format {
        OutputFormat::Table | OutputFormat::Wide => output::data(&text(&key.key))?,
        _ => return KEYS.print_one(format, &key),
    }
    Ok(Exit::Done)
}

/// The id of the only key whose id begins with `prefix`.
async fn resolve(server: &Server, prefix: &str) -> Result<String> {
    let keys: Page<ApiKey> = server.page(CallId::ListKeys, &[], &Value::Null).await?;
    let ids = keys.into_rows().map(|key| key.id);
    let mut ids: Vec<String> = ids.filter(|id| !prefix.is_empty() && id.starts_with(prefix)).collect();
    match ids.len() {
        0 => Err(CliError::new(Exit::NotFound, format!("no key has an id that begins with {prefix:?}"))
            .help("list ids with `tenure key list`")
            .into()),
        1 => Ok(ids.remove(0)),
        _ => {
            let message = format!("several keys have ids that begin with {prefix:?}: {}", ids.join(", "));
            Err(CliError::new(Exit::Refused, message).help("use a longer prefix").into())
        }
    }
}
