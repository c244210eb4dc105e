//! Errors: failed jobs, dead letters and retried attempts, grouped by error code and normalised message.

pub(crate) mod actions;
mod dismissed;
mod groups;
mod jobs;
mod kind;

use axum::response::Redirect;
use tenure_core::id::{TypeName, UserId};
use tenure_service::dead_letters::narrow;
use tenure_stats::snapshot::ErrorNow;

use crate::chart::sparkline;
use crate::jobs::filters::address;
use crate::prelude::*;
use dismissed::DismissedPage;
pub(crate) use groups::GroupCache;
use groups::{Group, Groups, SCAN_JOBS};
use jobs::GroupPage;
use kind::ErrorKind;

/// An error that was first seen within this time is new.
const NEW: Millis = Millis::seconds(30 * 60);

/// All groups, or those with a type.
struct GroupsPage {
    cache: Arc<GroupCache>,
    job_type: Option<TypeName>,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    narrow(&visitor.caller, &mut tenure_core::query::DeadLetterFilter::default())?;
    let job_type: Option<TypeName> = params.name("type")?;
    let kind = ErrorKind::read(&mut params, job_type.clone())?;
    let is_dismissed = params.flag("dismissed")?;
    let cursor: Option<JobId> = params.read("cursor", "a cursor of an earlier page", job_id)?;
    params.done()?;
    let cache = Arc::clone(&visitor.dashboard.error_groups);
    match kind {
        _ if is_dismissed => show(visitor, DismissedPage { cursor }).await,
        Some(kind) => show(visitor, GroupPage { cache, kind }).await,
        None => show(visitor, GroupsPage { cache, job_type }).await,
    }
}

/// The former page of dead letters, whose groups had a reason and a stage too.
pub(crate) async fn redirect(mut params: QueryParams) -> Reply {
    let to = match (params.text("code"), params.flag("dismissed")?) {
        (_, true) => "/ui/errors?dismissed=true".to_owned(),
        (Some(code), _) => address("/ui/errors", [("code", code.as_str())].into_iter()),
        (None, _) => "/ui/errors".to_owned(),
    };
    Ok(Redirect::permanent(&to).into_response())
}

/// The page of a group, in jobs of one type or of all.
pub(crate) fn group_address(error: &ErrorNow, job_type: Option<&TypeName>) -> String {
    ErrorKind::of_recent(error).of_type(job_type).address("/ui/errors", &[])
}

pub(crate) fn is_new(error: &ErrorNow, now: Timestamp) -> bool {
    now < error.first_at || now - error.first_at < NEW
}

fn tabs(is_dismissed: bool) -> Markup {
    html! {
        nav aria-label="Errors" {
            ul.tabs {
                li { a href="/ui/errors" aria-current=[(!is_dismissed).then_some("true")] { "Open" } }
                li { a href="/ui/errors?dismissed=true" aria-current=[is_dismissed.then_some("true")] { "Dismissed" } }
            }
        }
    }
}

impl Page for GroupsPage {
    const TAB: Tab = Tab::Errors;

    fn title(&self) -> Option<String> {
        self.job_type.as_ref().map(|job_type| format!("Errors of type {job_type}"))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let job_type = self.job_type.as_ref();
        let stored = self.cache.groups(service, caller, job_type).await?;
        let recent = if caller.is(Right::ReadSystem) {
            let snapshot = service.stats().snapshot().await?;
            match job_type {
                None => snapshot.errors.clone(),
                Some(wanted) => snapshot.errors_of(wanted).cloned().collect(),
            }
        } else {
            Vec::new()
        };
        let content =
            groups_table(&Groups::merge(&stored, &recent), &stored, job_type, service.runtime().now());
        Ok(html! {
            (tabs(false))
            @if self.job_type.is_some() { p { a.chip href="/ui/errors" { "All types " span aria-hidden="true" { "×" } } } }
            div #groups { (parts.keep("groups", content)) }
        })
    }
}

fn groups_table(groups: &[Group], stored: &Groups, job_type: Option<&TypeName>, now: Timestamp) -> Markup {
    let sum = |of: fn(&Group) -> u64| groups.iter().map(of).sum::<u64>();
    let (failed, dead, attempts) = (sum(Group::failed), sum(Group::dead), sum(|it| it.attempts));
    let jobs =
        |number: u64, what: &str| format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" });
    if groups.is_empty() {
        let among = if stored.is_more {
            format!(" among the newest {} jobs", count(SCAN_JOBS as u64))
        } else {
            String::new()
        };
        let why = format!(
            "No errors: no failed jobs{among}, no open dead letters, and no failed attempts in the last hour."
        );
        return nothing(&why, "");
    }
    html! {
        p data-tell="" {
            (jobs(failed, "failed job")) ", " (jobs(dead, "dead letter")) " and "
            (jobs(attempts, "failed attempt")) " of the last hour, grouped by code and message; the biggest group first."
            @if stored.is_more { " Failed jobs and dead letters are counted among the newest " (count(SCAN_JOBS as u64)) " jobs." }
        }
        (styled_table("errors", "Errors by code and message, the biggest first",
            &["Error", "Types", "#Dead", "#Failed", "#Attempts in 1 h", "Users", "First seen", "Last seen", "Example"],
            &html! { @for group in groups { (row(group, job_type, now)) } }))
    }
}

fn row(group: &Group, job_type: Option<&TypeName>, now: Timestamp) -> Markup {
    let is_new = now < group.first || now - group.first < NEW;
    html! {
        tr {
            th scope="row" {
                a href=(group.kind.of_type(job_type).address("/ui/errors", &[])) { code { (group.kind.code) } }
                @if is_new { " " span.badge.new { "new" } }
                div.quiet.clip title=(group.message) { (group.message) }
            }
            td { @for job_type in &group.types { a.plain href=(format!("/ui/types/{}", encode(job_type.as_str()))) { (job_type) } " " } }
            td.number data-label="Dead" { (number(group.dead())) }
            td.number data-label="Failed" { (number(group.failed())) }
            td.number data-label="Attempts in 1 h" {
                (number(group.attempts)) " " (sparkline(&group.minutes, "failed"))
                @if group.retried > 0 { div.quiet { (count(group.retried)) " retried" } }
            }
            td data-label="Users" { (users(group)) }
            td data-label="First" { (when(group.first)) }
            td data-label="Last" { (when(group.last)) }
            td { (job_link(group.example)) }
        }
    }
}

/// A number, or a dash for none, so that the others stand out.
fn number(value: u64) -> Markup {
    html! { @if value == 0 { span.quiet { "–" } } @else { (count(value)) } }
}

fn users(group: &Group) -> Markup {
    let is_more = group.users.len() >= ErrorNow::USERS_MAX;
    html! {
        @match group.users.iter().next() {
            None => span.quiet { "–" },
            Some(only) if group.users.len() == 1 => a.plain href=(format!("/ui/jobs?user_id={}", encode(only.as_str()))) { (only) },
            Some(_) => span title=(group.users.iter().map(UserId::as_str).collect::<Vec<_>>().join(", ")) {
                (group.users.len()) @if is_more { "+" } " users"
            },
        }
    }
}
