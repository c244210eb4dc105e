//! Every route on one screen.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};

use crate::app::App;
use crate::gate;
use crate::http::{
    accounts, assets, bulk, catalog, claims, dead_letters, events, health, jobs, keys, logs, overview, pages,
    reports, stream,
};

pub(crate) fn router(app: &App) -> Router {
    let mut routes = Router::new()
        .route("/api/jobs", get(jobs::list).post(jobs::create))
        .route("/api/jobs/batch", post(jobs::create_batch))
        .route("/api/jobs/actions", post(bulk::act))
        .route("/api/jobs/{id}", get(jobs::get))
        .route("/api/jobs/{id}/events", get(jobs::history))
        .route("/api/jobs/{id}/replay", get(jobs::replay))
        .route("/api/jobs/{id}/explain", get(jobs::explain))
        .route("/api/jobs/{id}/stream", get(stream::stream))
        .route("/api/jobs/{id}/logs", get(logs::read).post(logs::append))
        .route("/api/jobs/{id}/assets", get(assets::list).post(assets::add))
        .route("/api/jobs/{id}/assets/{asset}", get(assets::get))
        .route("/api/jobs/{id}/assets/{asset}/content", get(assets::content))
        .route("/api/jobs/{id}/cancel", post(jobs::cancel))
        .route("/api/jobs/{id}/retry", post(jobs::retry))
        .route("/api/jobs/{id}/dead-letter", post(jobs::dead_letter))
        .route("/api/jobs/{id}/signals/{name}", post(jobs::signal))
        .route("/api/claims", post(claims::claim))
        .route("/api/reports", post(reports::reports))
        .route("/api/workers", get(overview::workers))
        .route("/api/events", get(events::events))
        .route("/api/dead-letters", get(dead_letters::list))
        .route("/api/dead-letters/redrive", post(dead_letters::redrive))
        .route("/api/dead-letters/{job}/dismiss", post(dead_letters::dismiss))
        .route("/api/queues", get(overview::queues))
        .route("/api/queues/{name}/pause", post(overview::pause))
        .route("/api/queues/{name}/resume", post(overview::resume))
        .route("/api/lifecycles", get(catalog::lifecycles))
        .route("/api/lifecycles/{name}", get(catalog::lifecycle))
        .route("/api/lifecycles/{name}/diagram.svg", get(catalog::diagram))
        .route("/api/types", get(catalog::types))
        .route("/api/accounts/{user}/credits", get(accounts::get).post(accounts::grant))
        .route("/api/audit", get(overview::audit))
        .route("/api/stats", get(overview::stats))
        .route("/api/keys", get(keys::list).post(keys::create))
        .route("/api/keys/{id}", delete(keys::revoke));
    for verb in reports::VERBS {
        routes = routes.route(
            &format!("/api/jobs/{{id}}/{verb}"),
            post(move |state, caller, id, given, body| {
                reports::report(state, caller, (id, verb), given, body)
            }),
        );
    }
    routes
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(pages::openapi))
        .route("/docs", get(pages::docs))
        .route("/docs/", get(pages::docs))
        .route("/docs/docs.js", get(pages::docs_script))
        .route("/docs/docs.css", get(pages::docs_style))
        .route("/problems/{code}", get(pages::problem))
        .fallback(gate::no_route)
        .method_not_allowed_fallback(gate::no_method)
        .with_state(app.clone())
        .layer(from_fn_with_state(app.clone(), gate::pass))
}
