//! Dead letters, grouped by cause.

pub(crate) mod actions;
mod groups;
mod list;

use tenure_service::dead_letters::narrow;

use crate::anchor::Anchor;
use crate::prelude::*;
pub(crate) use groups::GroupCache;
use groups::{Group, Groups, Kind, LETTERS_MAX};
use list::LetterList;

struct GroupsPage {
    cache: Arc<GroupCache>,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    narrow(&visitor.caller, &mut tenure_core::query::DeadLetterFilter::default())?;
    let kind = Kind::read(&mut params)?;
    let dismissed = params.flag("dismissed")?;
    let cursor: Option<JobId> = params.read("cursor", "a cursor of an earlier page", job_id)?;
    let anchor = Anchor::read(&mut params)?;
    params.done()?;
    if kind.is_none() && !dismissed {
        let cache = Arc::clone(&visitor.dashboard.dead_letter_groups);
        return show(visitor, GroupsPage { cache }).await;
    }
    show(visitor, LetterList::new(kind, cursor, anchor)).await
}

fn tabs(dismissed: bool) -> Markup {
    html! {
        nav aria-label="Dead letters" {
            ul.tabs {
                li { a href="/ui/dead-letters" aria-current=[(!dismissed).then_some("true")] { "Open" } }
                li { a href="/ui/dead-letters?dismissed=true" aria-current=[dismissed.then_some("true")] { "Dismissed" } }
            }
        }
    }
}

impl Page for GroupsPage {
    const TAB: Tab = Tab::DeadLetters;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let groups = self.cache.groups(service, caller).await?;
        Ok(html! { (tabs(false)) div #groups { (parts.keep("groups", overview(&groups))) } })
    }
}

fn overview(groups: &Groups) -> Markup {
    if groups.groups.is_empty() {
        return nothing("No open dead letters.", "");
    }
    html! {
        p data-tell="" {
            @if groups.is_more { "More than " (count(LETTERS_MAX as u64)) " dead letters; the newest " (count(LETTERS_MAX as u64)) }
            @else { (count(groups.letters())) @if groups.letters() == 1 { " dead letter" } @else { " dead letters" } }
            ", grouped by reason, stage and error; the newest group first."
        }
        (styled_table("jobs", "Dead letters by reason, stage and error", &["Reason", "Stage", "Error", "#Count", "First", "Last", "Example"], &html! {
            @for group in &groups.groups { (row(group)) }
        }))
    }
}

fn row(group: &Group) -> Markup {
    let kind = &group.kind;
    html! {
        tr {
            th scope="row" { a href=(kind.address("/ui/dead-letters", &[])) { (kind.reason.as_str()) } }
            td { (kind.stage_name().unwrap_or("–")) }
            td { @if let Some(code) = &kind.code { code { (code) } } @else { "–" } }
            td.number { (count(group.count)) }
            td { (when(group.first)) }
            td { (when(group.last)) }
            td { (job_link(group.example)) " " span.quiet { (group.message) } }
        }
    }
}
