//! Whether the process lives, whether it can work, and its metrics.

use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse as _;
use http::{HeaderValue, header};
use serde_json::json;
use tenure_store::Store as _;

use crate::app::App;
use crate::http::{Reply, ok};
use crate::problem::{OVERLOADED, Problem, STORE_UNAVAILABLE};

/// How long the store may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// Commands that wait this long while nothing is committed are stuck.
const STUCK: Duration = Duration::from_secs(5);

pub(crate) async fn live() -> Reply {
    ok(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

pub(crate) async fn ready(State(app): State<App>) -> Reply {
    app.refuse_if_draining()?;
    if app.metrics().stuck_for(app.runtime().waiting_commands()) > STUCK {
        return Err(Problem::new(&OVERLOADED, "commands wait, and nothing is committed").retry_after(1));
    }
    match tokio::time::timeout(PATIENCE, app.store().now()).await {
        Ok(Ok(_)) => ok(&json!({ "ready": true })),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Problem::new(&STORE_UNAVAILABLE, "the store does not answer").retry_after(1)),
    }
}

pub(crate) async fn metrics(State(app): State<App>) -> Reply {
    let mut response = app.metrics().text(&app).await.into_response();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
