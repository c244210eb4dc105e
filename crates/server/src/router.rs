//! The router: one route for each call of the table, and one `match` that gives each call its handler. The right that a
//! call requires is checked here, before its handler runs.

use axum::Router;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{Version, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse as _;
use axum::routing::{MethodFilter, MethodRouter, get, on};
use tenure_api::call::Access;
use tenure_api::{CallId, Method};
use tenure_service::assets::UPLOAD_BYTES_MAX;
use tenure_service::body::declared_length;
use tenure_service::extract::Authenticated;
use tenure_service::pages::Pages;
use tenure_service::query::QueryParams;

use crate::body::BodyLimit;
use crate::http::{self, pages};
use crate::memory::BodyMemory;
use crate::prelude::*;
use crate::{lifecycle_api, middleware, socket};

pub(crate) fn router(app: &App, dashboard: Pages) -> Router {
    let mut calls = Router::new();
    for id in CallId::ALL {
        calls = calls.route(id.call().path, handler(*id));
    }
    let routes = calls
        .route("/docs/", get(pages::docs))
        .route("/docs/docs.js", get(pages::docs_script))
        .route("/docs/docs.css", get(pages::docs_style))
        .with_state(app.clone())
        .merge(dashboard.router)
        .method_not_allowed_fallback(middleware::unknown_method);
    // Paths without a route may belong to a lifecycle API or to the socket.
    let (inside, at) = (routes.clone().fallback(middleware::unknown_path), app.clone());
    let elsewhere = Router::new()
        .fallback(move |request: Request| lifecycle_api::serve(at, inside, request))
        // Apply state before the layer: otherwise the Socket.IO layer is rebuilt for each request and loses its sockets.
        .with_state(())
        .layer(socket::layer(app));
    routes
        .fallback_service(elsewhere)
        .layer(from_fn_with_state((app.clone(), dashboard.problem), middleware::apply))
}

/// Writes the `match` from calls to the handlers in each file below `http`: the compiler refuses a call without a handler.
macro_rules! handlers {
    (reports: $($Report:ident)|+; $($file:ident: $($Id:ident => $handler:ident $(::<$paused:literal>)?),+;)+) => {
        fn handler(id: CallId) -> MethodRouter<App> {
            match id {
                $($(CallId::$Id => route(id, http::$file::$handler $(::<$paused>)?),)+)+
                $(CallId::$Report)|+ => report(id),
            }
        }
    };
}

handlers! {
    reports: StartJob | HeartbeatJob | ReportProgress | SucceedJob | PartialJob | FailJob | RejectJob | ReleaseJob
        | ConfirmCancel;
    jobs: CreateJob => create, ListJobs => list, CreateJobs => create_batch, GetJob => get,
        AmendJob => amend, DeleteJob => delete, ReplayJob => replay, ExplainJob => explain, CancelJob => cancel, RetryJob => retry,
        DeadLetterJob => dead_letter, SignalJob => signal;
    history: ListJobEvents => list;
    bulk: ActOnJobs => act;
    stream: StreamJob => stream, CreateStreamToken => create_token;
    logs: ListJobLogs => read, AppendJobLogs => append;
    assets: ListJobAssets => list, AddJobAsset => add, GetJobAsset => get, GetJobAssetContent => content;
    claims: ClaimJobs => claim;
    reports: ReportJobs => reports;
    dead_letters: ListDeadLetters => list, RedriveDeadLetters => redrive, DismissDeadLetter => dismiss;
    catalog: ListLifecycles => lifecycles, GetLifecycle => lifecycle, GetLifecycleDiagram => diagram,
        TryLifecycle => what_if, ListTypes => types;
    accounts: GetCredits => get, GrantCredits => grant;
    users: EraseUser => erase;
    events: ListEvents => events;
    system: ListWorkers => workers, ListQueues => queues, PauseQueue => set_paused::<true>,
        ResumeQueue => set_paused::<false>, GetStats => stats;
    resources: ListResources => list, GetResource => get, SetResource => set, ResetResource => reset,
        PauseResource => pause, ResumeResource => resume, ListSequences => sequences,
        ResumeSequence => resume_sequence;
    audit: ListAudit => list;
    keys: ListKeys => list, CreateKey => create, RotateKey => rotate, RevokeKey => revoke;
    schedules: ListSchedules => list, CreateSchedule => create, GetSchedule => get, DeleteSchedule => remove,
        ReplaceSchedule => replace, PauseSchedule => pause, ResumeSchedule => resume, RunSchedule => run;
    webhooks: ListWebhooks => list, CreateWebhook => create, GetWebhook => get, DeleteWebhook => remove,
        EnableWebhook => enable, DisableWebhook => disable, ReplayWebhook => replay;
    health: GetHealth => live, GetReadiness => ready, GetMetrics => metrics;
    pages: GetOpenapi => openapi, GetDocs => docs, GetProblem => problem;
}

fn report(id: CallId) -> MethodRouter<App> {
    let verb = id.verb().expect("the call is a report");
    route(id, move |call, job, body| http::reports::report(verb, call, job, body))
}

/// The route of a call: its method, and its handler behind the check of its right.
fn route<H: Handler<T, App>, T: 'static>(id: CallId, handler: H) -> MethodRouter<App> {
    let call = id.call();
    let method = match call.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    };
    if call.access == Access::Public {
        return on(method, handler);
    }
    on(method, move |State(app): State<App>, request: Request| async move {
        let (mut parts, body) = request.into_parts();
        match admit(id, &app, &mut parts).await {
            Ok(reserved) => {
                let response = handler.call(Request::from_parts(parts, body), app).await;
                drop(reserved);
                response
            }
            Err(problem) => problem.into_response(),
        }
    })
}

/// Identifies the caller, refuses one without the right, and leaves it in the request for the handler. A query of a call
/// that has no query parameters is refused too.
async fn admit(id: CallId, app: &App, parts: &mut Parts) -> Result<Arc<BodyMemory>> {
    let call = id.call();
    let caller = http::stream::identify(id, app, parts).await?;
    if !call.access.allows(|right| caller.is(right)) {
        return Err(caller.lacks_right());
    }
    if !call.has_query() {
        QueryParams::from_request_parts(parts, app).await?.done()?;
    }
    let limit = BodyLimit::of(id, &app.limits());
    // A lifecycle API has read the body already.
    let reserved = match parts.extensions.remove() {
        Some(Reserved(memory)) => memory,
        None => Arc::new(reserve(id, app, parts, limit)?),
    };
    parts.extensions.insert(Authenticated(Ok(caller)));
    parts.extensions.insert(limit);
    Ok(reserved)
}

/// The memory of a body that was reserved before the canonical route.
#[derive(Clone)]
pub(crate) struct Reserved(pub(crate) Arc<BodyMemory>);

/// Refuses a call before its body is read, if the node is overloaded or has no memory for it.
pub(crate) fn reserve(id: CallId, app: &App, parts: &Parts, limit: BodyLimit) -> Result<BodyMemory> {
    let adds_work = matches!(id, CallId::CreateJob | CallId::CreateJobs);
    if adds_work && !app.runtime().accepts_creations() {
        return Err(Failure::Overloaded.into());
    }
    let has_body = parts.headers.contains_key(header::TRANSFER_ENCODING) || parts.version >= Version::HTTP_2;
    let takes_body = matches!(id.call().method, Method::Post | Method::Put | Method::Patch);
    // An upload is never in memory as a whole.
    let bytes_max = if id == CallId::AddJobAsset { UPLOAD_BYTES_MAX } else { limit.0 };
    let unknown = if has_body && takes_body { bytes_max } else { 0 };
    let bytes = declared_length(&parts.headers).map_or(unknown, |length| bytes_max.min(length as usize));
    let memory = match id {
        CallId::AddJobAsset => app.memory.reserve_upload(bytes),
        _ => app.memory.reserve(bytes, adds_work),
    };
    memory.ok_or_else(|| Failure::Overloaded.into())
}
