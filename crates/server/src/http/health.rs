//! Health, readiness and metrics.

use tenure_api::{Health, Readiness};

use crate::http::prelude::*;
use crate::metrics::Format;

/// How long the store may take to answer.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// The node is not ready when commands wait this long without a commit.
const STUCK: Duration = Duration::from_secs(5);
/// The store is asked at most this often.
pub(crate) const READINESS_AGE_MAX: Duration = Duration::from_millis(250);

pub(crate) async fn live() -> Reply {
    ok(&Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

pub(crate) async fn ready(State(app): State<App>) -> Reply {
    app.refuse_if_draining()?;
    if app.metrics.stuck_for(app.runtime().queued_commands()) > STUCK {
        let detail = "commands wait and nothing is committed";
        return Err(Problem::new(ProblemCode::Overloaded, detail).retry_after(1));
    }
    app.readiness.get(store_answers(&app)).await?;
    ok(&Readiness { ready: true })
}

async fn store_answers(app: &App) -> Result<()> {
    match tokio::time::timeout(STORE_TIMEOUT, app.store().now()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => {
            Err(Problem::new(ProblemCode::StoreUnavailable, "the store does not answer").retry_after(1))
        }
    }
}

pub(crate) async fn metrics(State(app): State<App>, headers: HeaderMap) -> Reply {
    let format = Format::wanted(&headers);
    let mut response = text(format.media_type(), app.metrics.text(&app, format).await);
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}
