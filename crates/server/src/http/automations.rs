//! What calls about schedules and about webhooks share: ids, lookups and answers to creations.

use serde::Serialize;
use tenure_core::automation::{Automation, AutomationId};
use tenure_service::auth::key::IssuedKey;

use crate::http::prelude::*;

/// Ids are parts of other names.
const ID_BYTES_MAX: usize = 64;

/// The given id, or a generated one; the repeat of a request with a key generates the same id.
pub(super) fn new_id(given: Option<String>, key: Option<&IdempotencyKey>) -> Result<Name> {
    let Some(id) = given else {
        let issued = key.map_or_else(IssuedKey::random, |key| IssuedKey::repeatable(key.key.as_str()));
        return Ok(issued.id.into());
    };
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    if (1..=ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(fits) {
        return Ok(id.into());
    }
    let detail = format!("must have 1 to {ID_BYTES_MAX} letters, digits, dots, dashes and underscores");
    Err(Problem::malformed("#/id", detail))
}

/// The automation in the output of a command about one, and whether the command had been executed before.
pub(super) fn automation_of(output: CommandOutput) -> (Automation, bool) {
    match output {
        CommandOutput::Automation { automation, replayed } => (*automation, replayed),
        _ => unreachable!("a command about an automation is answered with it"),
    }
}

pub(super) async fn find(app: &App, id: &AutomationId) -> Result<Automation> {
    let known = app.store().automations(id.0).await?;
    let found = known.into_iter().find(|automation| automation.id() == *id);
    found.ok_or_else(|| Problem::not_found(id.0.as_str(), &id.1))
}

/// The automation of a creation, and whether it was created before. If the key of a refused creation generated the id of
/// an existing automation, the key was used for another body.
pub(super) async fn added(
    app: &App,
    id: &AutomationId,
    key: Option<IdempotencyKey>,
    output: Result<CommandOutput>,
) -> Result<(Automation, bool)> {
    match (output, key) {
        (Ok(output), _) => Ok(automation_of(output)),
        (Err(_), Some(key)) if find(app, id).await.is_ok() => Err(Problem::key_reused(key.key.as_str())),
        (Err(problem), _) => Err(problem),
    }
}

/// 201 and the path of a new automation; 200 for one that existed.
pub(super) fn created(body: &impl Serialize, get: CallId, id: &Name, replayed: bool) -> Response {
    if replayed {
        let mut response = answer(StatusCode::OK, body);
        mark_replayed(&mut response);
        return response;
    }
    let mut response = answer(StatusCode::CREATED, body);
    set_location(&mut response, get.call().path_of(&[id.as_str()]));
    response
}
