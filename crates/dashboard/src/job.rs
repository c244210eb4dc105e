//! The page of a job: state, actions, explanation, path, log, payload, result, assets and history.

mod actions;
mod assets;
mod attempt_timeline;
mod decision;
mod error;
mod head;
mod history;
mod log;
mod output;
mod path;
mod related;
mod why;

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts as RequestParts;
use tenure_core::event::Telemetry;
use tenure_core::lifecycle::Outcome;
use tenure_service::dead_letters;
use tenure_service::explain::explain;
use tenure_service::extract::{Id, IsSecure, host_of};
use tenure_service::lifecycles::of_job;

use crate::prelude::*;

pub(crate) use actions::{act, has_succeeded, signal};
pub(crate) use assets::content;
pub(crate) use log::full_log;
pub(crate) use output::full_text;

/// Sections below the path, in order.
/// Heartbeats and progress reports that are drawn, at most.
const BEATS_MAX: usize = 1000;

const SECTIONS: [(&str, &str); 7] = [
    ("log", "Log"),
    ("payload", "Payload"),
    ("result", "Result"),
    ("assets", "Assets"),
    ("history", "History"),
    ("credits", "Credits"),
    ("related", "Related"),
];

struct JobPage {
    id: JobId,
    title: String,
    log: log::LogView,
    /// The address of the server as the visitor sees it. Not in a part, since parts are shared between visitors.
    server: String,
}

/// Scheme and host of the request.
pub(crate) struct ServerUrl(String);

impl FromRequestParts<Dashboard> for ServerUrl {
    type Rejection = Infallible;

    async fn from_request_parts(request: &mut RequestParts, _: &Dashboard) -> Result<Self, Infallible> {
        let scheme = if request.extensions.get::<IsSecure>().is_some() { "https" } else { "http" };
        let host = host_of(&request.headers, &request.uri).unwrap_or("localhost");
        Ok(Self(format!("{scheme}://{host}")))
    }
}

pub(crate) async fn page(visitor: Visitor, Id(id): Id, mut params: QueryParams, server: ServerUrl) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let log = log::LogView::read(&mut params)?;
    params.done()?;
    let job = find(&visitor.dashboard, &visitor.caller, id).await?;
    let title = format!("{} {}", job.spec.job_type, short(id));
    show(visitor, JobPage { id, title, log, server: server.0 }).await
}

/// The job, with a longer explanation if it does not exist.
async fn find(service: &Service, caller: &Caller, id: JobId) -> Result<Arc<Job>> {
    let why = "It never existed, or its retention has ended, which also deletes its history, log and assets";
    let explained = || Problem::new(ProblemCode::NotFound, format!("there is no job {id}. {why}"));
    let is_missing = |problem: &Problem| problem.code() == ProblemCode::NotFound.code();
    let found = service.job(caller, id).await;
    found.map_err(|problem| if is_missing(&problem) { explained() } else { problem })
}

/// The dead letter of a job that can have one.
async fn letter_of(service: &Service, job: &Job) -> Result<Option<DeadLetter>> {
    let is_dead = job.phase == Phase::Final(Outcome::Dead);
    let may_be = is_dead || (job.phase.is_final() && job.spec.links.compensates.is_some());
    if may_be { dead_letters::find(service, job.id()).await } else { Ok(None) }
}

/// The last heartbeats and progress reports, in order.
async fn last_telemetry(service: &Service, id: JobId) -> Result<Vec<Telemetry>> {
    let mut lines = service.store().last_telemetry(id, BEATS_MAX).await?;
    lines.reverse();
    Ok(lines)
}

impl Page for JobPage {
    const TAB: Tab = Tab::Jobs;

    fn title(&self) -> Option<String> {
        Some(self.title.clone())
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        // The job is read first, so that its history is at least as new.
        let job = find(service, caller, self.id).await?;
        let events = history::ShownEvents::read(service, &job).await?;
        let telemetry = last_telemetry(service, self.id).await?;
        let (rules, now) = (of_job(service, &job).await?, service.runtime().reading());
        let explanation = explain(service, caller, &job).await?;
        let letter = letter_of(service, &job).await?;
        let left = assets::newest(service, self.id).await?;
        let others = related::Related::find(service, caller, &job).await?;
        let stays = path::stays(&events.shown);
        let lines = self.log.find(service, &job, &stays).await?;
        let tail = log::last(&job, &log::tail(service, &job).await?);
        let decision = decision::decision(caller, &explanation, &job, &rules, &left);
        Ok(html! {
            section aria-label="Job" {
                div #job-status { (parts.keep("job-status", head::status(&job, letter.as_ref()))) }
                div #error { (parts.keep("error", job.output.error.as_deref().map_or_else(|| html! {}, error::error))) }
                div #job-decision { (parts.keep("job-decision", decision)) }
                div #job-actions { (parts.keep("job-actions", actions::forms(caller, &explanation, &job, letter.as_ref()))) }
                (head::commands(self.id, &self.server, caller.credential == "open"))
                div #job-tail { (parts.keep("job-tail", tail)) }
                div.known {
                    (head::spec(&job))
                    dl #job-attempt .facts { (parts.keep("job-attempt", head::attempt(&job, now))) }
                }
            }
            section aria-labelledby="why" {
                h2 #why { "Why is it here?" }
                div #job-why { (parts.keep("job-why", why::why(&explanation, &job, &rules))) }
            }
            section aria-labelledby="path" {
                h2 #path { "Path" }
                (path::map(&rules, &stays, parts))
                div #job-attempts .attempts { (parts.keep("job-attempts", attempt_timeline::timeline(&job, &stays, &telemetry, now))) }
            }
            nav aria-label="Sections" { ul.tabs { @for (id, name) in SECTIONS { li { a href=(format!("#{id}")) { (name) } } } } }
            section #log aria-label="Log" {
                h2 { "Log" }
                (self.log.form(self.id, &stays))
                div #job-lines { (parts.keep("job-lines", log::about(&job, &lines))) }
                pre #job-log .log data-tail="" tabindex="0" { (parts.keep("job-log", log::lines(&lines.lines))) }
            }
            div.cards.two {
                section #payload .card aria-label="Payload" { (output::payload(&job)) }
                section #result .card aria-label="Result" { (parts.keep("result", output::output(&job))) }
            }
            section #assets aria-label="Assets" {
                h2 { "Assets" }
                div #job-assets { (parts.keep("job-assets", assets::list(&left))) }
            }
            section #history .history aria-label="History" {
                h2 { "History" }
                div #job-history { (parts.keep("job-history", history::history(&job, &rules, &events))) }
            }
            div.cards.two {
                section #credits .card aria-label="Credits" { (parts.keep("credits", related::credits(&job, &rules))) }
                section #related .card aria-label="Related" { (parts.keep("related", related::related(&job, events.creator.as_ref(), &others))) }
            }
        })
    }
}
