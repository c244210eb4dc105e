//! `tenure key …`: who may call.

use anyhow::Result;
use clap::ValueEnum as _;
use serde_json::Value;
use tenure_client::Method;

use crate::args::{Form, KeyCommand, KeyCreate};
use crate::client::{Query, Server, escaped};
use crate::output::{self, Exit, Trouble};
use crate::show::{self, List, age, text};

const KEYS: List = List {
    plural: "keys",
    name: "id",
    columns: &[
        ("KEY", |key| text(&key["id"])),
        ("ROLE", |key| text(&key["role"])),
        ("USER", |key| text(&key["user_id"])),
        ("AGE", |key| age(&key["created_at"])),
        ("REVOKED", |key| if key["revoked_at"].is_null() { "no" } else { "yes" }.to_owned()),
    ],
    more: &[("CREATED BY", |key| text(&key["created_by"])), ("REVOKED AT", |key| text(&key["revoked_at"]))],
};

/// Runs one.
pub(crate) async fn run(command: KeyCommand, server: &Server, form: Form) -> Result<Exit> {
    match command {
        KeyCommand::Create(args) => create(&args, server, form).await,
        KeyCommand::List => {
            KEYS.print(form, &server.get("/api/keys", &Query::new()).await?)?;
            Ok(Exit::Done)
        }
        KeyCommand::Revoke(args) => {
            let id = resolve(server, &args.id).await?;
            let path = format!("/api/keys/{}", escaped(&id));
            print(form, &server.client.call(Method::DELETE, &path, None).await?)
        }
    }
}

async fn create(args: &KeyCreate, server: &Server, form: Form) -> Result<Exit> {
    let role = args.role.to_possible_value().expect("no role is hidden");
    let answer = server.client.create_key(role.get_name(), args.user.as_deref()).await?;
    output::words(&format!(
        "key {} for a {}: keep it, it is not shown again",
        text(&answer["id"]),
        role.get_name()
    ));
    match form {
        Form::Table | Form::Wide => output::data(&text(&answer["key"]))?,
        _ => return print(form, &answer),
    }
    Ok(Exit::Done)
}

/// The id of the one key whose id begins so.
async fn resolve(server: &Server, begins: &str) -> Result<String> {
    let answer = server.get("/api/keys", &Query::new()).await?;
    let ids = answer["keys"].as_array().into_iter().flatten().map(|key| text(&key["id"]));
    let mut ids: Vec<String> = ids.filter(|id| !begins.is_empty() && id.starts_with(begins)).collect();
    match ids.len() {
        0 => Err(Trouble::new(Exit::NotFound, format!("no key's id begins with {begins}")).into()),
        1 => Ok(ids.remove(0)),
        _ => {
            let sentence = format!("more than one key's id begins with {begins}: {}", ids.join(", "));
            Err(Trouble::new(Exit::Refused, sentence).help("write more of it").into())
        }
    }
}

fn print(form: Form, key: &Value) -> Result<Exit> {
    show::one(form, key, "id", || {
        vec![
            ("key", text(&key["id"])),
            ("role", text(&key["role"])),
            ("user", text(&key["user_id"])),
            ("created", text(&key["created_at"])),
            ("revoked", text(&key["revoked_at"])),
        ]
    })?;
    Ok(Exit::Done)
}
