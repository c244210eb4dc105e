//! The dashboard: pages rendered on the server, one script, and a stream for each page.
//!
//! A `Page` is rendered for its visitor. Its stream renders it again and sends the `Parts` that changed, so the first
//! view and every update come from the same code.

mod accounts;
mod anchor;
mod audit;
mod changes;
mod chart;
mod errors;
mod events;
mod figures;
mod files;
mod form;
mod format;
mod history;
mod icon;
mod job;
mod jobs;
mod layout;
mod lifecycles;
mod live;
mod map;
mod overview;
mod prelude;
mod pretty;
mod queues;
mod resources;
mod schedules;
mod search;
mod session;
mod system;
mod time_range;
mod types;
mod webhooks;
mod workers;

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::response::{Html, IntoResponse as _};
use axum::routing::{get, post};
use errors::{GroupCache, actions as error_actions};
use layout::Tab;
use lifecycles::what_if;
use live::LivePages;
pub(crate) use live::Parts;
use maud::Markup;
use session::Visitor;
use tenure_service::Service;
use tenure_service::caller::{Caller, Right};
use tenure_service::extract::Reply;
use tenure_service::pages::Pages;
use tenure_service::problem::Problem;
use tenure_service::query::QueryParams;

/// The service, and what pages share between requests. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Dashboard {
    service: Service,
    live_pages: Arc<LivePages>,
    error_groups: Arc<GroupCache>,
}

impl Deref for Dashboard {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

/// The dashboard's pages, for a server to serve.
pub fn pages(service: Service) -> Pages {
    let dashboard = Dashboard { service, live_pages: Arc::default(), error_groups: Arc::default() };
    Pages { router: routes().with_state(dashboard), problem: layout::problem }
}

fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/", get(session::redirect_to_overview))
        .route("/ui/", get(session::redirect_to_overview))
        .route("/ui/sign-in", get(session::sign_in_page).post(session::sign_in))
        .route("/ui/sign-out", post(session::sign_out))
        .route("/ui/theme", post(session::set_theme))
        .route("/ui/tenure.css", get(files::style))
        .route("/ui/tenure.js", get(files::script))
        .route("/ui/icon.svg", get(files::icon))
        .route("/ui", get(overview::page))
        .route("/ui/lifecycles", get(system_page::<lifecycles::All>))
        .route("/ui/lifecycles/{name}", get(lifecycles::one))
        .route("/ui/lifecycles/{name}/what-if", get(what_if::form).post(what_if::answer))
        .route("/ui/accounts", get(accounts::page))
        .route("/ui/accounts/{user}", get(accounts::one))
        .route("/ui/accounts/{user}/grant", post(accounts::grant))
        .route("/ui/accounts/{user}/erase", post(accounts::erase))
        .route("/ui/events", get(events::page))
        .route("/ui/changes", get(changes::page))
        .route("/favicon.ico", get(files::icon))
        .route("/ui/jobs", get(jobs::page))
        .route("/ui/jobs/actions", get(jobs::actions::confirm).post(jobs::actions::act))
        .route("/ui/jobs/views", post(jobs::views::change))
        .route("/ui/search", get(search::page))
        .route("/ui/errors", get(errors::page))
        .route("/ui/errors/actions", get(error_actions::confirm).post(error_actions::act))
        .route("/ui/dead-letters", get(errors::redirect))
        .route("/ui/dead-letters/actions", get(errors::redirect).post(error_actions::act))
        .route("/ui/types", get(types::page))
        .route("/ui/types/{name}", get(types::one))
        .route("/ui/types/{name}/run", post(types::run))
        .route("/ui/queues", get(system_page::<queues::Queues>))
        .route("/ui/queues/{name}/pause", post(queues::pause))
        .route("/ui/queues/{name}/resume", post(queues::resume))
        .route("/ui/resources", get(system_page::<resources::Resources>))
        .route("/ui/resources/{name}/pause", post(resources::pause))
        .route("/ui/resources/{name}/resume", post(resources::resume))
        .route("/ui/sequences/{type}/{key}/resume", post(resources::resume_sequence))
        .route("/ui/schedules", get(system_page::<schedules::Schedules>).post(schedules::create))
        .route("/ui/schedules/{id}", get(schedules::one))
        .route("/ui/schedules/{id}/{act}", post(schedules::act))
        .route("/ui/webhooks", get(system_page::<webhooks::Webhooks>))
        .route("/ui/webhooks/{id}", get(webhooks::one))
        .route("/ui/webhooks/{id}/{act}", post(webhooks::act))
        .route("/ui/audit", get(audit::page))
        .route("/ui/audit/export", get(audit::export))
        .route("/ui/system", get(system_page::<system::System>))
        .route("/ui/workers", get(system_page::<workers::Workers>))
        .route("/ui/jobs/{id}", get(job::page))
        .route("/ui/jobs/{id}/log", get(job::full_log))
        .route("/ui/jobs/{id}/text/{what}", get(job::full_text))
        .route("/ui/jobs/{id}/assets/{asset}", get(job::content))
        .route("/ui/jobs/{id}/signals/{name}", post(job::signal))
        .route("/ui/jobs/{id}/{act}", post(job::act))
}

pub(crate) trait Page: Send + Sync + 'static {
    /// Its entry in the navigation.
    const TAB: Tab;

    fn tab(&self) -> Tab {
        Self::TAB
    }

    /// Heading and browser title, if not the name of the tab.
    fn title(&self) -> Option<String> {
        None
    }

    /// Address of the stream, if not the page's own: a listing adds which rows it shows.
    fn stream(&self) -> Option<String> {
        None
    }

    /// The content below the heading. Whatever may change goes through `parts`.
    fn draw(
        &self,
        service: &Service,
        caller: &Caller,
        parts: &mut Parts,
    ) -> impl Future<Output = Result<Markup, Problem>> + Send;
}

/// A page that must not change while it is read, such as a confirmation.
pub(crate) struct StaticPage {
    pub(crate) tab: Tab,
    pub(crate) title: String,
    pub(crate) main: Markup,
}

impl Page for StaticPage {
    const TAB: Tab = Tab::Jobs;

    fn tab(&self) -> Tab {
        self.tab
    }

    fn title(&self) -> Option<String> {
        Some(self.title.clone())
    }

    fn stream(&self) -> Option<String> {
        Some(String::new())
    }

    async fn draw(&self, _: &Service, _: &Caller, _: &mut Parts) -> Result<Markup, Problem> {
        Ok(self.main.clone())
    }
}

/// A page about the system that has no parameters.
async fn system_page<P: Page + Default>(visitor: Visitor, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    params.done()?;
    show(visitor, P::default()).await
}

/// Answers with a page, or with its stream.
async fn show<P: Page>(visitor: Visitor, page: P) -> Reply {
    if visitor.wants_stream {
        return Ok(live::stream(visitor, page));
    }
    let mut parts = Parts::default();
    let main = page.draw(&visitor.dashboard, &visitor.caller, &mut parts).await?;
    let badges = layout::badges(&visitor.dashboard, &visitor.caller, &mut parts).await?;
    let stream = page.stream().unwrap_or_else(|| visitor.address.clone());
    let (tab, title) = (page.tab(), page.title().unwrap_or_else(|| page.tab().name().to_owned()));
    let full = layout::full(&visitor, (tab, &title), &stream, &badges, &main);
    Ok(session::without_flash(Html(full.into_string()).into_response(), &visitor))
}
