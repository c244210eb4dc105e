//! The router: one route for each call of the table, and one `match` that gives each call its handler. The right that a
//! call requires is checked here, before its handler runs.

use axum::Router;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse as _;
use axum::routing::{MethodFilter, MethodRouter, get, on};
use tenure_api::call::Access;
use tenure_api::{Call, CallId, Method, Verb};
use tenure_service::extract::Authenticated;
use tenure_service::pages::Pages;
use tenure_service::query::QueryParams;

use crate::http::{
    accounts, assets, bulk, catalog, claims, dead_letters, events, health, jobs, keys, logs, pages, reports,
    schedules, stream, system, webhooks,
};
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

/// Writes the `match` from calls to handlers: the compiler refuses a call without a handler.
macro_rules! handlers {
    (reports { $($Report:ident => $Verb:ident,)+ } $($Id:ident => $handler:path,)+) => {
        fn handler(id: CallId) -> MethodRouter<App> {
            match id {
                $(CallId::$Id => route(id, $handler),)+
                $(CallId::$Report => report(Verb::$Verb),)+
            }
        }
    };
}

handlers! {
    reports {
        StartJob => Start,
        HeartbeatJob => Heartbeat,
        ReportProgress => Progress,
        SucceedJob => Succeed,
        PartialJob => Partial,
        FailJob => Fail,
        RejectJob => Reject,
        ReleaseJob => Release,
        ConfirmCancel => CancelConfirm,
    }
    CreateJob => jobs::create,
    ListJobs => jobs::list,
    CreateJobs => jobs::create_batch,
    ActOnJobs => bulk::act,
    GetJob => jobs::get,
    ListJobEvents => jobs::history,
    ReplayJob => jobs::replay,
    ExplainJob => jobs::explain,
    StreamJob => stream::stream,
    ListJobLogs => logs::read,
    AppendJobLogs => logs::append,
    ListJobAssets => assets::list,
    AddJobAsset => assets::add,
    GetJobAsset => assets::get,
    GetJobAssetContent => assets::content,
    CancelJob => jobs::cancel,
    RetryJob => jobs::retry,
    DeadLetterJob => jobs::dead_letter,
    SignalJob => jobs::signal,
    ClaimJobs => claims::claim,
    ReportJobs => reports::reports,
    ListWorkers => system::workers,
    ListDeadLetters => dead_letters::list,
    RedriveDeadLetters => dead_letters::redrive,
    DismissDeadLetter => dead_letters::dismiss,
    ListQueues => system::queues,
    PauseQueue => system::pause_queue,
    ResumeQueue => system::resume_queue,
    ListLifecycles => catalog::lifecycles,
    GetLifecycle => catalog::lifecycle,
    GetLifecycleDiagram => catalog::diagram,
    ListTypes => catalog::types,
    GetCredits => accounts::get,
    GrantCredits => accounts::grant,
    ListEvents => events::events,
    GetStats => system::stats,
    ListAudit => system::audit,
    ListKeys => keys::list,
    CreateKey => keys::create,
    RevokeKey => keys::revoke,
    ListSchedules => schedules::list,
    CreateSchedule => schedules::create,
    GetSchedule => schedules::get,
    DeleteSchedule => schedules::remove,
    PauseSchedule => schedules::pause,
    ResumeSchedule => schedules::resume,
    ListWebhooks => webhooks::list,
    CreateWebhook => webhooks::create,
    GetWebhook => webhooks::get,
    DeleteWebhook => webhooks::remove,
    EnableWebhook => webhooks::enable,
    GetHealth => health::live,
    GetReadiness => health::ready,
    GetMetrics => health::metrics,
    GetOpenapi => pages::openapi,
    GetDocs => pages::docs,
    GetProblem => pages::problem,
}

fn report(verb: Verb) -> MethodRouter<App> {
    route(CallId::of_verb(verb), move |state, caller, id, preference, body| {
        reports::report(verb, state, caller, id, preference, body)
    })
}

/// The route of a call: its method, and its handler behind the check of its right.
fn route<H: Handler<T, App>, T: 'static>(id: CallId, handler: H) -> MethodRouter<App> {
    let call = id.call();
    let method = match call.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    };
    if call.access == Access::Public {
        return on(method, handler);
    }
    on(method, move |State(app): State<App>, request: Request| async move {
        match admit(call, &app, request).await {
            Ok(request) => handler.call(request, app).await,
            Err(problem) => problem.into_response(),
        }
    })
}

/// Identifies the caller, refuses one without the right, and leaves it in the request for the handler. A query of a call
/// that has no query parameters is refused too.
async fn admit(call: &Call, app: &App, request: Request) -> Result<Request, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, app).await?;
    if !call.access.allows(caller.role.as_str()) {
        return Err(caller.lacks_right());
    }
    if !call.has_query() {
        QueryParams::from_request_parts(&mut parts, app).await?.done()?;
    }
    parts.extensions.insert(Authenticated(Ok(caller)));
    Ok(Request::from_parts(parts, body))
}
