//! Health, readiness and metrics.

use tenure_api::{Health, Readiness};

use crate::http::prelude::*;

/// How long the store may take to answer.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// The node is not ready when commands wait this long without a commit.
const STUCK: Duration = Duration::from_secs(5);

pub(crate) async fn live() -> Reply {
    ok(&Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

pub(crate) async fn ready(State(app): State<App>) -> Reply {
    app.refuse_if_draining()?;
    if app.metrics.stuck_for(app.runtime().queued_commands()) > STUCK {
        let detail = "commands wait and nothing is committed";
        return Err(Problem::new(ProblemCode::Overloaded, detail).retry_after(1));
    }
    match tokio::time::timeout(STORE_TIMEOUT, app.store().now()).await {
        Ok(Ok(_)) => ok(&Readiness { ready: true }),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => {
            Err(Problem::new(ProblemCode::StoreUnavailable, "the store does not answer").retry_after(1))
        }
    }
}

pub(crate) async fn metrics(State(app): State<App>) -> Reply {
    Ok(text("application/openmetrics-text; version=1.0.0; charset=utf-8", app.metrics.text(&app).await))
}
