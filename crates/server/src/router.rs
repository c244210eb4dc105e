//! Every route on one screen.

use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};

use crate::app::App;
use crate::http::{
    accounts, assets, bulk, catalog, claims, dead_letters, events, health, jobs, keys, logs, overview, pages,
    reports, schedules, stream, webhooks,
};
use crate::{door, gate, socket, ui};

pub(crate) fn router(app: &App) -> Router {
    let routes = Router::new()
        .merge(of_jobs())
        .merge(of_workers())
        .merge(of_operators())
        .merge(standing_orders())
        .merge(of_the_server())
        .merge(ui::routes())
        .method_not_allowed_fallback(gate::no_method)
        .with_state(app.clone());
    // What no route answers may be at a door, or the socket's.
    let (inside, at) = (routes.clone().fallback(gate::no_route), app.clone());
    let elsewhere = Router::new()
        .fallback(move |request: Request| door::enter(at, inside, request))
        // Only what has its state is layered once; a layer of its own for each request would forget its sockets.
        .with_state(())
        .layer(socket::layer(app));
    routes.fallback_service(elsewhere).layer(from_fn_with_state(app.clone(), gate::pass))
}

/// Doors have the same below their mounts.
fn of_jobs() -> Router<App> {
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
        .route("/api/jobs/{id}/signals/{name}", post(jobs::signal));
    for verb in reports::VERBS {
        routes = routes.route(
            &format!("/api/jobs/{{id}}/{verb}"),
            post(move |state, caller, id, given, body| {
                reports::report(state, caller, (id, verb), given, body)
            }),
        );
    }
    routes
}

fn of_workers() -> Router<App> {
    Router::new()
        .route("/api/claims", post(claims::claim))
        .route("/api/reports", post(reports::reports))
        .route("/api/workers", get(overview::workers))
}

fn of_operators() -> Router<App> {
    Router::new()
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
        .route("/api/keys/{id}", delete(keys::revoke))
}

/// What is set up once and then goes on by itself.
fn standing_orders() -> Router<App> {
    Router::new()
        .route("/api/schedules", get(schedules::list).post(schedules::create))
        .route("/api/schedules/{id}", get(schedules::get).delete(schedules::remove))
        .route("/api/schedules/{id}/pause", post(schedules::pause))
        .route("/api/schedules/{id}/resume", post(schedules::resume))
        .route("/api/webhooks", get(webhooks::list).post(webhooks::create))
        .route("/api/webhooks/{id}", get(webhooks::get).delete(webhooks::remove))
        .route("/api/webhooks/{id}/enable", post(webhooks::enable))
}

fn of_the_server() -> Router<App> {
    Router::new()
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(pages::openapi))
        .route("/docs", get(pages::docs))
        .route("/docs/", get(pages::docs))
        .route("/docs/docs.js", get(pages::docs_script))
        .route("/docs/docs.css", get(pages::docs_style))
        .route("/problems/{code}", get(pages::problem))
}
