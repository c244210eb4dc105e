//! Parses and authenticates the `auth` object of a connecting peer, as strictly as a request body.

use serde::Deserialize;
use socketioxide::extract::SocketRef;
use tenure_core::command::ClaimFilter;
use tenure_core::limits::CLAIM_JOBS_MAX;
use tenure_service::extract::{OnConnection, Peer};
use tenure_service::fields::{name, require, up_to};

use crate::body;
use crate::http::claims::{limit_to_scopes, names};
use crate::prelude::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct EngineAuth {
    token: Option<String>,
    engine_id: String,
    job_types: Vec<String>,
    capacity: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontEndAuth {
    token: Option<String>,
}

/// An authenticated engine: its name, the jobs it runs, and how many at once.
pub(super) struct EngineHandshake {
    pub(super) caller: Caller,
    pub(super) worker: WorkerId,
    /// The types that it runs, in the scopes of its key.
    pub(super) filter: ClaimFilter,
    pub(super) capacity: usize,
}

impl EngineHandshake {
    pub(super) async fn read(app: &App, socket: &SocketRef, auth: Option<&RawValue>) -> Result<Self> {
        let auth: EngineAuth = parse(auth)?;
        let caller = identify(app, socket, auth.token).await?;
        let worker = name("#/engineId", Some(auth.engine_id))?.unwrap_or_else(|| "".into());
        let types: Vec<_> = names("#/jobTypes", Some(auth.job_types))?.unwrap_or_default();
        require(!types.is_empty(), "#/jobTypes", "must name a type")?;
        let mut filter = ClaimFilter { types: Some(types), queues: None };
        limit_to_scopes(&mut filter, &caller)?;
        let capacity = up_to(CLAIM_JOBS_MAX.into(), "#/capacity", auth.capacity.unwrap_or(1))? as usize;
        Ok(Self { caller, worker, filter, capacity })
    }
}

pub(super) async fn front_end(app: &App, socket: &SocketRef, auth: Option<&RawValue>) -> Result<Caller> {
    let auth: FrontEndAuth = parse(auth)?;
    identify(app, socket, auth.token).await
}

fn parse<T: for<'de> Deserialize<'de>>(auth: Option<&RawValue>) -> Result<T> {
    let text = auth.ok_or_else(|| Problem::malformed("#", "auth is not JSON"))?.get();
    body::parse(body::check(text)?)
}

async fn identify(app: &App, socket: &SocketRef, token: Option<String>) -> Result<Caller> {
    app.refuse_if_draining()?;
    let keys = app.keyring().current().await?;
    let extensions = &socket.req_parts().extensions;
    let caller = if keys.is_open() {
        Caller::open()
    } else {
        let peer = extensions.get::<Peer>().map(|peer| peer.0);
        let bearer = token.map(|token| format!("Bearer {token}"));
        app.keyring().identify(&keys, bearer.as_deref(), peer, app.runtime().now()).await?
    };
    OnConnection::authenticated(extensions);
    Ok(caller)
}
