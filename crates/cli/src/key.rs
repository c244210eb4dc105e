//! `tenure key …`: creates, lists and revokes API keys.

use anyhow::Result;
use clap::ValueEnum as _;
use serde_json::{Value, json};
use tenure_api::request::NewKey;
use tenure_api::{ApiKey, CallId};

use crate::args::{KeyCommand, OutputFormat};
use crate::client::{Answer, Page, Server};
use crate::id;
use crate::output::{self, Exit};
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
        KeyCommand::Create { role, user } => {
            let role = role.to_possible_value().expect("no role is hidden").get_name().to_owned();
            let body = json!(NewKey { role: role.clone(), user_id: user });
            let key: Answer<ApiKey> = server.create_secret(CallId::CreateKey, &body).await?;
            let id = text(&key.id);
            output::message(&format!("created {role} key {id}; store the secret, it is not shown again"));
            if !matches!(format, OutputFormat::Table | OutputFormat::Wide) {
                return KEYS.print_one(format, &key);
            }
            output::data(&text(&key.key))?;
            Ok(Exit::Done)
        }
        KeyCommand::List => KEYS.print(format, &server.page(CallId::ListKeys, &[], &Value::Null).await?),
        KeyCommand::Revoke { id } => {
            let id = resolve(server, &id).await?;
            KEYS.print_one(format, &server.get(CallId::RevokeKey, &[&id]).await?)
        }
    }
}

/// The id of the only key whose id begins with `prefix`.
async fn resolve(server: &Server, prefix: &str) -> Result<String> {
    let keys: Page<ApiKey> = server.page(CallId::ListKeys, &[], &Value::Null).await?;
    let ids = keys.into_rows().map(|key| key.id);
    let mut ids: Vec<String> = ids.filter(|id| !prefix.is_empty() && id.starts_with(prefix)).collect();
    match ids.len() {
        0 => Err(id::not_found("key", prefix).into()),
        1 => Ok(ids.remove(0)),
        _ => Err(id::ambiguous("key", prefix, &format!(" {}", ids.join(", "))).into()),
    }
}
