//! What is in force: lifecycles and types.

use axum::extract::State;
use axum::response::IntoResponse as _;
use http::{HeaderValue, header};
use serde_json::{Map, Value, json};
use tenure_core::job_type::JobType;
use tenure_core::lifecycle::{Format, Lifecycle};

use crate::app::App;
use crate::caller::{Caller, Right};
use crate::http::{Named, Reply, ok, page};
use crate::problem::Problem;
use crate::query::Given;

pub(crate) async fn types(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::See)?;
    given.done()?;
    page("types", app.runtime().catalog().types().map(|it| job_type(it)).collect(), None)
}

fn job_type(it: &JobType) -> Value {
    let timeouts: Map<String, Value> =
        it.timeouts.iter().map(|(state, span)| (state.to_string(), json!(span))).collect();
    json!({
        "name": it.name,
        "lifecycle": it.lifecycle.name,
        "lifecycle_version": it.lifecycle.version,
        "queue": it.queue,
        "priority": it.priority,
        "max_attempts": it.policy.max_attempts,
        "lease": it.policy.lease,
        "heartbeat": it.policy.heartbeat,
        "cancel_grace": it.policy.cancel_grace,
        "cost": it.cost,
        "compensate_with": it.compensate_with,
        "payload_bytes_max": it.payload_bytes_max,
        "timeouts": timeouts,
    })
}

pub(crate) async fn lifecycles(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::See)?;
    given.done()?;
    let catalog = app.runtime().catalog();
    let newest = |it: &&std::sync::Arc<Lifecycle>| {
        catalog.newest(it.name.as_str()).is_some_and(|newest| newest.version == it.version)
    };
    let shown = catalog.lifecycles().filter(newest).map(|it| {
        let states: Vec<_> = it.states.iter().map(|state| state.name.clone()).collect();
        json!({ "name": it.name, "version": it.version, "description": it.about, "states": states })
    });
    page("lifecycles", shown.collect(), None)
}

/// The version in force.
pub(crate) fn newest(app: &App, name: &str) -> Result<std::sync::Arc<Lifecycle>, Problem> {
    app.runtime()
        .catalog()
        .newest(name)
        .cloned()
        .ok_or_else(|| Problem::not_found("lifecycle", name.escape_debug()))
}

pub(crate) async fn lifecycle(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named,
    given: Given,
) -> Reply {
    caller.may(Right::See)?;
    given.done()?;
    let lifecycle = newest(&app, name.as_str())?;
    let mut shown = tenure_core::wire::lifecycle(&lifecycle);
    shown["source"] = json!(lifecycle.source);
    ok(&shown)
}

pub(crate) async fn diagram(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named,
    given: Given,
) -> Reply {
    caller.may(Right::See)?;
    given.done()?;
    let mut response = newest(&app, name.as_str())?.draw(Format::Svg).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    Ok(response)
}
