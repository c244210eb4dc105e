//! The router: one route for each call of the table, and one `match` that gives each call its handler. The right that a
//! call requires is checked here, before its handler runs.

use axum::Router;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse as _;
use axum::routing::{MethodFilter, MethodRouter, get, on};
use tenure_api::call::Access;
use tenure_api::{CallId, Method, Verb};
use tenure_service::caller::Caller;
use tenure_service::extract::Authenticated;
use tenure_service::pages::Pages;
use tenure_service::problem::Problem;

use crate::app::App;
use crate::http::{
    accounts, assets, bulk, catalog, claims, dead_letters, events, health, jobs, keys, logs, pages, reports,
    schedules, stream, system, webhooks,
};
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

#[allow(clippy::too_many_lines, reason = "one line for each call")]
fn handler(id: CallId) -> MethodRouter<App> {
    match id {
        CallId::CreateJob => route(id, jobs::create),
        CallId::ListJobs => route(id, jobs::list),
        CallId::CreateJobs => route(id, jobs::create_batch),
        CallId::ActOnJobs => route(id, bulk::act),
        CallId::GetJob => route(id, jobs::get),
        CallId::ListJobEvents => route(id, jobs::history),
        CallId::ReplayJob => route(id, jobs::replay),
        CallId::ExplainJob => route(id, jobs::explain),
        CallId::StreamJob => route(id, stream::stream),
        CallId::ListJobLogs => route(id, logs::read),
        CallId::AppendJobLogs => route(id, logs::append),
        CallId::ListJobAssets => route(id, assets::list),
        CallId::AddJobAsset => route(id, assets::add),
        CallId::GetJobAsset => route(id, assets::get),
        CallId::GetJobAssetContent => route(id, assets::content),
        CallId::CancelJob => route(id, jobs::cancel),
        CallId::RetryJob => route(id, jobs::retry),
        CallId::DeadLetterJob => route(id, jobs::dead_letter),
        CallId::SignalJob => route(id, jobs::signal),
        CallId::ClaimJobs => route(id, claims::claim),
        CallId::StartJob => report(Verb::Start),
        CallId::HeartbeatJob => report(Verb::Heartbeat),
        CallId::ReportProgress => report(Verb::Progress),
        CallId::SucceedJob => report(Verb::Succeed),
        CallId::PartialJob => report(Verb::Partial),
        CallId::FailJob => report(Verb::Fail),
        CallId::RejectJob => report(Verb::Reject),
        CallId::ReleaseJob => report(Verb::Release),
        CallId::ConfirmCancel => report(Verb::CancelConfirm),
        CallId::ReportJobs => route(id, reports::reports),
        CallId::ListWorkers => route(id, system::workers),
        CallId::ListDeadLetters => route(id, dead_letters::list),
        CallId::RedriveDeadLetters => route(id, dead_letters::redrive),
        CallId::DismissDeadLetter => route(id, dead_letters::dismiss),
        CallId::ListQueues => route(id, system::queues),
        CallId::PauseQueue => route(id, system::pause_queue),
        CallId::ResumeQueue => route(id, system::resume_queue),
        CallId::ListLifecycles => route(id, catalog::lifecycles),
        CallId::GetLifecycle => route(id, catalog::lifecycle),
        CallId::GetLifecycleDiagram => route(id, catalog::diagram),
        CallId::ListTypes => route(id, catalog::types),
        CallId::GetCredits => route(id, accounts::get),
        CallId::GrantCredits => route(id, accounts::grant),
        CallId::ListEvents => route(id, events::events),
        CallId::GetStats => route(id, system::stats),
        CallId::ListAudit => route(id, system::audit),
        CallId::ListKeys => route(id, keys::list),
        CallId::CreateKey => route(id, keys::create),
        CallId::RevokeKey => route(id, keys::revoke),
        CallId::ListSchedules => route(id, schedules::list),
        CallId::CreateSchedule => route(id, schedules::create),
        CallId::GetSchedule => route(id, schedules::get),
        CallId::DeleteSchedule => route(id, schedules::remove),
        CallId::PauseSchedule => route(id, schedules::pause),
        CallId::ResumeSchedule => route(id, schedules::resume),
        CallId::ListWebhooks => route(id, webhooks::list),
        CallId::CreateWebhook => route(id, webhooks::create),
        CallId::GetWebhook => route(id, webhooks::get),
        CallId::DeleteWebhook => route(id, webhooks::remove),
        CallId::EnableWebhook => route(id, webhooks::enable),
        CallId::GetHealth => route(id, health::live),
        CallId::GetReadiness => route(id, health::ready),
        CallId::GetMetrics => route(id, health::metrics),
        CallId::GetOpenapi => route(id, pages::openapi),
        CallId::GetDocs => route(id, pages::docs),
        CallId::GetProblem => route(id, pages::problem),
    }
}

fn report(verb: Verb) -> MethodRouter<App> {
    route(CallId::of_verb(verb), move |state, caller, id, params, preference, body| {
        reports::report(verb, state, caller, id, params, preference, body)
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
    let access = call.access;
    if access == Access::Public {
        return on(method, handler);
    }
    on(method, move |State(app): State<App>, request: Request| async move {
        match authorize(access, &app, request).await {
            Ok(request) => handler.call(request, app).await,
            Err(problem) => problem.into_response(),
        }
    })
}

/// Identifies the caller, refuses one without the right, and leaves it in the request for the handler.
async fn authorize(access: Access, app: &App, request: Request) -> Result<Request, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, app).await?;
    if !access.allows(caller.role.as_str()) {
        return Err(caller.lacks_right());
    }
    parts.extensions.insert(Authenticated(Ok(caller)));
    Ok(Request::from_parts(parts, body))
}
