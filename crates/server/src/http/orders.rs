//! What calls about schedules and about webhooks share: both are standing orders.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;
use tenure_core::command::GivenKey;
use tenure_core::decide::Done;
use tenure_core::id::Name;
use tenure_core::order::{Order, OrderId};
use tenure_core::refusal::Refusal;
use tenure_store::Store as _;

use crate::app::App;
use crate::auth::key::Issued;
use crate::http::{answer, mark_replayed};
use crate::problem::Problem;

/// A schedule's or a webhook's name: a part of other names.
const ID_BYTES_MAX: usize = 64;

/// The id of a new one: the caller's, or made, and made again by the repeat of a request with a key.
pub(super) fn id_of(given: Option<String>, key: Option<&GivenKey>) -> Result<Name, Problem> {
    let Some(id) = given else {
        let made = key.map_or_else(Issued::new, |given| Issued::repeatable(given.key.as_str()));
        return Ok(made.id.into());
    };
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    if (1..=ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(fits) {
        return Ok(id.into());
    }
    let detail = format!("must have 1 to {ID_BYTES_MAX} letters, digits, dots, dashes and underscores");
    Err(Problem::malformed("#/id", detail))
}

/// The order that a command about one is answered with.
pub(super) fn order_of(done: Done) -> (Order, bool) {
    match done {
        Done::Order { order, replayed } => (*order, replayed),
        _ => unreachable!("an order is answered with itself"),
    }
}

pub(super) async fn find(app: &App, id: &OrderId) -> Result<Order, Problem> {
    let known = app.store().orders(id.0).await?;
    let found = known.into_iter().find(|order| order.id() == *id);
    found.ok_or_else(|| Problem::not_found(id.0.as_str(), &id.1))
}

/// Why a new one was refused. Under a key whose repeat would have its id, it is the key that was used for another.
pub(super) async fn refused(app: &App, id: &OrderId, key: Option<GivenKey>, problem: Problem) -> Problem {
    match key {
        Some(given) if find(app, id).await.is_ok() => Refusal::IdempotencyMismatch(given.key).into(),
        _ => problem,
    }
}

/// 201 and where it is; 200 for one that was there before.
pub(super) fn made(shown: &Value, place: String, replayed: bool) -> Response {
    if replayed {
        let mut response = answer(StatusCode::OK, shown);
        mark_replayed(&mut response);
        return response;
    }
    let mut response = answer(StatusCode::CREATED, shown);
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}
