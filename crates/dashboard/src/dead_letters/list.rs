//! Letters one by one: those of a group, or those that were dismissed.

use std::sync::OnceLock;

use futures_util::future::try_join_all;
use maud::{Markup, html};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::id::{JobId, TypeName};
use tenure_core::query::{DeadLetterFilter, Page as Rows};
use tenure_service::Service;
use tenure_service::caller::{Caller, Right};
use tenure_service::dead_letters::narrow;
use tenure_service::problem::Problem;
use tenure_store::Store as _;

use super::groups::{Kind, LETTERS_MAX};
use super::tabs;
use crate::anchor::{Anchor, ROWS};
use crate::format::{job as link, nothing, table, when};
use crate::jobs::failure;
use crate::jobs::filters::address;
use crate::layout::Tab;
use crate::session::Visitor;
use crate::{Page, Parts};

/// Letters that are read at once.
const READ: usize = 100;

/// Letters of a kind that are open; without one those that were dismissed.
pub(crate) struct List {
    kind: Option<Kind>,
    cursor: Option<JobId>,
    anchor: Option<Anchor>,
    drawn: OnceLock<Anchor>,
}

/// A letter, and the type of its job.
type Letter = (DeadLetter, Option<TypeName>);

impl List {
    pub(crate) fn new(kind: Option<Kind>, cursor: Option<JobId>, anchor: Option<Anchor>) -> Self {
        Self { kind, cursor, anchor, drawn: OnceLock::new() }
    }

    fn address(&self, cursor: Option<JobId>) -> String {
        let cursor = cursor.map(|id| id.to_string());
        let more: Vec<(&str, &str)> = cursor.iter().map(|id| ("cursor", id.as_str())).collect();
        match &self.kind {
            Some(kind) => kind.address("/ui/dead-letters", &more),
            None => address("/ui/dead-letters", [("dismissed", "true")].into_iter().chain(more)),
        }
    }

    /// The letters of this page, and where older ones begin.
    async fn find(
        &self,
        service: &Service,
        caller: &Caller,
    ) -> Result<(Vec<DeadLetter>, Option<JobId>), Problem> {
        let dismissed = || DeadLetterFilter { dismissed: true, ..DeadLetterFilter::default() };
        let mut filter = self.kind.as_ref().map_or_else(dismissed, Kind::filter);
        narrow(caller, &mut filter)?;
        let (mut found, mut looked_at) = (Vec::new(), 0);
        let mut before = self.anchor.map_or(self.cursor, |anchor| Some(anchor.before()));
        loop {
            let letters = service.store().dead_letters(filter.clone(), Rows { before, limit: READ }).await?;
            let is_last = letters.len() < READ;
            looked_at += letters.len();
            before = letters.last().map(|letter| letter.job_id).or(before);
            let holds = |letter: &DeadLetter| self.kind.as_ref().is_none_or(|kind| kind.holds(letter));
            found.extend(letters.into_iter().filter(holds));
            if let Some(anchor) = self.anchor {
                let is_past = before.is_none_or(|before| before < anchor.end);
                if is_past || is_last || looked_at >= LETTERS_MAX {
                    found.retain(|letter| letter.job_id >= anchor.end);
                    return Ok((found, None));
                }
            } else if found.len() > ROWS {
                found.truncate(ROWS);
                let older = found.last().map(|letter| letter.job_id);
                return Ok((found, older));
            } else if is_last {
                return Ok((found, None));
            } else if looked_at >= LETTERS_MAX {
                return Ok((found, before));
            }
        }
    }
}

/// Adds what a letter does not say itself.
async fn with_types(service: &Service, letters: Vec<DeadLetter>) -> Result<Vec<Letter>, Problem> {
    let jobs = try_join_all(letters.iter().map(|letter| service.store().job(letter.job_id))).await?;
    let types = jobs.into_iter().map(|job| job.map(|job| job.spec.job_type.clone()));
    Ok(letters.into_iter().zip(types).collect())
}

impl Page for List {
    fn title(&self) -> String {
        match &self.kind {
            Some(kind) => format!("Dead letters: {}", kind.words()),
            None => "Dismissed dead letters".to_owned(),
        }
    }

    fn tab(&self) -> Tab {
        Tab::DeadLetters
    }

    fn stream(&self) -> Option<String> {
        self.drawn.get().map(|anchor| anchor.stream(&self.address(self.cursor)))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup, Problem> {
        let (letters, older) = self.find(service, caller).await?;
        self.drawn.get_or_init(|| Anchor::of(letters.iter().map(|letter| letter.job_id)));
        let letters = with_types(service, letters).await?;
        let table = match &self.kind {
            _ if letters.is_empty() => html! {
                @if self.kind.is_some() { (nothing("No letter of this kind is open.", "")) }
                @else { (nothing("No dead letter was dismissed.", "")) }
            },
            Some(kind) => self.open(kind, &letters, Visitor::lacks(caller, Right::Operate).as_deref(), parts),
            None => dismissed(&letters),
        };
        Ok(html! {
            (tabs(self.kind.is_none()))
            (table)
            nav.row aria-label="Pages of dead letters" {
                @if self.cursor.is_some() { a.button rel="prev" href=(self.address(None)) { "Back to the newest" } }
                @if older.is_some() { a.button rel="next" href=(self.address(older)) { "Older" } }
            }
        })
    }
}

impl List {
    fn open(&self, kind: &Kind, letters: &[Letter], lacks: Option<&str>, parts: &mut Parts) -> Markup {
        html! {
            form method="post" action="/ui/dead-letters/actions" {
                input type="hidden" name="back" value=(self.address(self.cursor));
                (bar(kind, lacks))
                div.wide tabindex="0" role="region" aria-label="Dead letters" {
                    table.jobs {
                        caption.unseen { "Dead letters of this kind, the newest job first" }
                        thead {
                            tr {
                                th scope="col" { input type="checkbox" aria-label="Select all rows"; }
                                @for column in ["Job", "Type", "Died", "Attempts", "Last worker", "Error"] { th scope="col" { (column) } }
                            }
                        }
                        tbody { @for letter in letters { (row(letter, parts)) } }
                    }
                }
            }
        }
    }
}

fn bar(kind: &Kind, lacks: Option<&str>) -> Markup {
    let group = |action: &str, label: &str| {
        html! {
            @if lacks.is_some() { button type="button" disabled title=[lacks] { (label) } }
            @else { a.button href=(kind.address("/ui/dead-letters/actions", &[("action", action)])) { (label) } }
        }
    };
    html! {
        div.bulk.row {
            button type="submit" name="action" value="redrive" formnovalidate disabled[lacks.is_some()] title=[lacks]
                data-needs-ticked[lacks.is_none()] { "Redrive selected " span data-ticked {} }
            label { input type="checkbox" name="settle" value="yes" checked; " and dismiss what was redriven" }
            (group("redrive", "Redrive the whole group…"))
        }
        div.bulk.row {
            label { "Why " input name="reason" required disabled[lacks.is_some()] autocomplete="off"; }
            button.danger type="submit" name="action" value="dismiss" data-ask="Dismiss {n} dead letters?" disabled[lacks.is_some()] title=[lacks]
                data-needs-ticked[lacks.is_none()] { "Dismiss selected " span data-ticked {} }
            (group("dismiss", "Dismiss the whole group…"))
        }
    }
}

fn row((letter, job_type): &Letter, parts: &mut Parts) -> Markup {
    let place = format!("d-{}", letter.job_id.0.simple());
    let error = html! { @if let Some(error) = &letter.last_error { (failure(error)) } };
    html! {
        tr {
            td { input type="checkbox" name="job" value=(letter.job_id) aria-label=(format!("Select job {}", letter.job_id)); }
            th scope="row" { (link(letter.job_id)) }
            td { @if let Some(name) = job_type { (name) } }
            td { (when(letter.created_at)) }
            td { (letter.attempts) }
            td { @if let Some(owner) = &letter.last_owner { (owner) } }
            td id=(place) { (parts.keep(place.as_str(), error)) }
        }
    }
}

fn dismissed(letters: &[Letter]) -> Markup {
    html! {
        (table("Dismissed dead letters, the newest job first", &["Job", "Type", "Reason", "Error", "Dismissed", "By", "Why"], &html! {
            @for (letter, job_type) in letters {
                tr {
                    th scope="row" { (link(letter.job_id)) }
                    td { @if let Some(name) = job_type { (name) } }
                    td { (letter.reason_code.as_str()) }
                    td { @if let Some(error) = &letter.last_error { (failure(error)) } }
                    @if let Some(dismissal) = &letter.dismissed {
                        td { (when(dismissal.at)) }
                        td { (dismissal.by) }
                        td { (dismissal.reason) }
                    }
                }
            }
        }))
    }
}
