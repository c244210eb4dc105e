//! Definitions in force: lifecycles and types.

use tenure_api::Lifecycle;
use tenure_core::id::LifecycleName;
use tenure_core::lifecycle::Lifecycle as CheckedLifecycle;
use tenure_diagram::{Format, draw};
use tenure_service::lifecycles::newest;
use tenure_service::what_if;

use crate::http::prelude::*;

pub(crate) async fn types(State(app): State<App>) -> Reply {
    page(CallId::ListTypes, app.runtime().catalog().types().map(|it| wire::job_type(it)).collect(), None)
}

pub(crate) async fn lifecycles(State(app): State<App>) -> Reply {
    let catalog = app.runtime().catalog();
    let is_newest = |it: &&std::sync::Arc<tenure_core::lifecycle::Lifecycle>| {
        catalog.newest(it.name.as_str()).is_some_and(|newest| newest.version == it.version)
    };
    let summaries = catalog.lifecycles().filter(is_newest).map(|it| wire::lifecycle_summary(it));
    page(CallId::ListLifecycles, summaries.collect(), None)
}

pub(crate) async fn lifecycle(State(app): State<App>, Named(name): Named<LifecycleName>) -> Reply {
    let lifecycle = newest(&app, name.as_str())?;
    ok(&Lifecycle { source: lifecycle.source.clone(), ..wire::lifecycle(&lifecycle) })
}

pub(crate) async fn diagram(State(app): State<App>, Named(name): Named<LifecycleName>) -> Reply {
    Ok(text("image/svg+xml", draw(&*newest(&app, name.as_str())?, Format::Svg)))
}

pub(crate) async fn what_if(
    State(app): State<App>,
    Named(name): Named<LifecycleName>,
    body: Body<request::TryLifecycle>,
) -> Reply {
    let period = span("#/since", body.value.since)?.unwrap_or(what_if::PERIOD_DEFAULT);
    let parsed = CheckedLifecycle::parse(&body.value.source);
    let lifecycle = parsed.map_err(|flaws| what_if::flawed("#/source", &flaws))?;
    if lifecycle.name != name {
        let detail = format!("describes lifecycle {}, not {name}", lifecycle.name);
        return Err(Problem::invalid("#/source", detail));
    }
    ok(&wire::what_if(&what_if::what_if(&app, lifecycle, period).await?))
}
