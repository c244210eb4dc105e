//! `tenure key …`: creates, lists, rotates and revokes API keys.

use anyhow::Result;
use clap::ValueEnum as _;
use serde_json::{Value, json};
use tenure_api::request::{KeyRotation, NewKey, NewKeyScopes};
use tenure_api::{ApiKey, CallId, KeyScopes};

use crate::args::{KeyCommand, KeyCreateArgs, OutputFormat};
use crate::client::{Answer, Page, Server};
use crate::id;
use crate::output::{self, Exit};
use crate::show::{List, age, text, yes_or_no};

const KEYS: List<ApiKey> = List {
    name: |key| text(&key.id),
    columns: &[
        ("KEY", |key| text(&key.id)),
        ("NAME", |key| text(&key.name)),
        ("ROLE", roles),
        ("USER", |key| text(&key.user_id)),
        ("AGE", |key| age(&key.created_at)),
        ("LAST USED", |key| key.last_used_at.as_ref().map(age).unwrap_or_default()),
        ("EXPIRES", |key| text(&key.expires_at)),
        ("REVOKED", |key| yes_or_no(key.revoked_at.is_some())),
    ],
    wide_columns: &[
        ("SCOPES", |key| scopes(&key.scopes)),
        ("ROTATED AT", |key| text(&key.rotated_at)),
        ("CREATED BY", |key| text(&key.created_by)),
        ("REVOKED AT", |key| text(&key.revoked_at)),
    ],
    pairs: |key| {
        vec![
            ("key", text(&key.id)),
            ("name", text(&key.name)),
            ("role", roles(key)),
            ("user", text(&key.user_id)),
            ("scopes", scopes(&key.scopes)),
            ("created", text(&key.created_at)),
            ("expires", text(&key.expires_at)),
            ("last used", text(&key.last_used_at)),
            ("rotated", text(&key.rotated_at)),
            ("earlier secrets until", text(&key.earlier_secrets_until)),
            ("revoked", text(&key.revoked_at)),
        ]
    },
};

/// All roles; a server of an earlier version sends only the first.
fn roles(key: &ApiKey) -> String {
    if key.roles.is_empty() { text(&key.role) } else { text(&key.roles.join(",")) }
}

fn scopes(scopes: &KeyScopes) -> String {
    let list = |names: &Option<Vec<String>>| names.as_ref().map(|names| names.join(","));
    let priority = match (scopes.priority_min, scopes.priority_max) {
        (None, None) => None,
        (min, max) => {
            let shown = |bound: Option<i64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
            Some(format!("{}..{}", shown(min), shown(max)))
        }
    };
    let all = [
        ("type", list(&scopes.types)),
        ("queue", list(&scopes.queues)),
        ("user", scopes.user_id.clone()),
        ("worker", scopes.worker.clone()),
        ("priority", priority),
    ];
    let set = all.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    text(&set.collect::<Vec<_>>().join(" "))
}

pub(crate) async fn run(command: KeyCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    match command {
        KeyCommand::Create(args) => {
            let body = json!(new_key(*args));
            let key: Answer<ApiKey> = server.create_secret(CallId::CreateKey, &[], &body).await?;
            let (roles, id) = (roles(&key), text(&key.id));
            output::message(&format!("created {roles} key {id}; store the secret, it is not shown again"));
            print_secret(format, &key)
        }
        KeyCommand::List => KEYS.print(format, &server.page(CallId::ListKeys, &[], &Value::Null).await?),
        KeyCommand::Rotate { id, overlap } => {
            let id = resolve(server, &id).await?;
            let body = json!(KeyRotation { overlap: overlap.map(|span| span.to_string()) });
            let key: Answer<ApiKey> = server.create_secret(CallId::RotateKey, &[&id], &body).await?;
            let until = match &key.earlier_secrets_until {
                Some(until) => format!("earlier secrets are valid until {}", text(until)),
                None => "earlier secrets are no longer valid".to_owned(),
            };
            output::message(&format!("rotated key {id}; {until}; store the secret, it is not shown again"));
            print_secret(format, &key)
        }
        KeyCommand::Revoke { id } => {
            let id = resolve(server, &id).await?;
            KEYS.print_one(format, &server.get(CallId::RevokeKey, &[&id]).await?)
        }
    }
}

fn new_key(args: KeyCreateArgs) -> NewKey {
    let name_of =
        |role: crate::args::Role| role.to_possible_value().expect("no role is hidden").get_name().to_owned();
    let mut roles: Vec<String> = args.role.into_iter().map(name_of).collect();
    // Servers of earlier versions know one role.
    let (role, roles) = if roles.len() == 1 { (roles.pop(), None) } else { (None, Some(roles)) };
    let some = |names: Vec<String>| (!names.is_empty()).then_some(names);
    let scopes = NewKeyScopes {
        types: some(args.job_type),
        queues: some(args.queue),
        user_id: args.only_user,
        worker: args.worker_name,
        priority_min: args.priority.and_then(|range| range.min),
        priority_max: args.priority.and_then(|range| range.max),
    };
    let is_limited = scopes.types.is_some()
        || scopes.queues.is_some()
        || scopes.user_id.is_some()
        || scopes.worker.is_some()
        || args.priority.is_some();
    NewKey {
        role,
        roles,
        name: args.name,
        user_id: args.user,
        expires_at: None,
        ttl: args.expires.map(|span| span.to_string()),
        scopes: is_limited.then_some(scopes),
    }
}

/// Prints a secret, which is shown only once.
fn print_secret(format: OutputFormat, key: &Answer<ApiKey>) -> Result<Exit> {
    if !matches!(format, OutputFormat::Table | OutputFormat::Wide) {
        return KEYS.print_one(format, key);
    }
    output::data(&text(&key.key))?;
    Ok(Exit::Done)
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
