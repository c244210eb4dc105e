//! Dead letters of a group, or dismissed ones.

use std::sync::OnceLock;

use futures_util::future::try_join_all;
use tenure_core::id::TypeName;
use tenure_core::query::DeadLetterFilter;
use tenure_service::dead_letters::{narrow, visible};

use super::groups::{Kind, LETTERS_MAX};
use super::tabs;
use crate::anchor::{Anchor, ROWS, pager};
use crate::jobs::failure;
use crate::jobs::filters::address;
use crate::prelude::*;

const COLUMNS: [&str; 7] = ["", "Job", "Type", "Dead since", "Attempts", "Last worker", "Error"];
/// Dead letters per read of the store.
const READ: usize = 100;

/// Open dead letters of a kind; without a kind, dismissed ones.
pub(crate) struct LetterList {
    kind: Option<Kind>,
    cursor: Option<JobId>,
    anchor: Option<Anchor>,
    drawn: OnceLock<Anchor>,
}

/// A dead letter and the type of its job.
type Letter = (DeadLetter, Option<TypeName>);

impl LetterList {
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

    /// The dead letters of this page, and the cursor of older ones.
    async fn find(&self, service: &Service, caller: &Caller) -> Result<(Vec<DeadLetter>, Option<JobId>)> {
        let dismissed = || DeadLetterFilter { dismissed: true, ..DeadLetterFilter::default() };
        let mut filter = self.kind.as_ref().map_or_else(dismissed, Kind::filter);
        narrow(caller, &mut filter)?;
        let (mut found, mut looked_at) = (Vec::new(), 0);
        let mut before = self.anchor.map_or(self.cursor, |anchor| Some(anchor.before()));
        loop {
            let page =
                service.store().dead_letters_page(filter.clone(), Rows { before, limit: READ }).await?;
            let (letters, is_last) = (page.rows, !page.has_more);
            looked_at += letters.len();
            before = letters.last().map(|letter| letter.job_id).or(before);
            let letters = visible(service, caller, letters).await?;
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

async fn with_types(service: &Service, letters: Vec<DeadLetter>) -> Result<Vec<Letter>> {
    let jobs = try_join_all(letters.iter().map(|letter| service.store().job(letter.job_id))).await?;
    let types = jobs.into_iter().map(|job| job.map(|job| job.spec.job_type.clone()));
    Ok(letters.into_iter().zip(types).collect())
}

impl Page for LetterList {
    const TAB: Tab = Tab::DeadLetters;

    fn title(&self) -> Option<String> {
        Some(match &self.kind {
            Some(kind) => format!("Dead letters: {}", kind.words()),
            None => "Dismissed dead letters".to_owned(),
        })
    }

    fn stream(&self) -> Option<String> {
        self.drawn.get().map(|anchor| anchor.stream(&self.address(self.cursor)))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let (letters, older) = self.find(service, caller).await?;
        self.drawn.get_or_init(|| Anchor::of(letters.iter().map(|letter| letter.job_id)));
        let letters = with_types(service, letters).await?;
        let table = match &self.kind {
            _ if letters.is_empty() => html! {
                @if self.kind.is_some() { (nothing("This group has no open dead letters.", "")) }
                @else { (nothing("No dismissed dead letters.", "")) }
            },
            Some(kind) => self.open(kind, &letters, Visitor::lacks(caller, Right::Operate).as_deref(), parts),
            None => dismissed(&letters),
        };
        Ok(html! {
            (tabs(self.kind.is_none()))
            (table)
            (pager("Pages of dead letters", self.cursor.map(|_| self.address(None)), older.map(|_| self.address(older))))
        })
    }
}

impl LetterList {
    fn open(&self, kind: &Kind, letters: &[Letter], lacks: Option<&str>, parts: &mut Parts) -> Markup {
        html! {
            form method="post" action="/ui/dead-letters/actions" {
                input type="hidden" name="back" value=(self.address(self.cursor));
                (bar(kind, lacks))
                (styled_table("jobs", "Dead letters of this group, newest job first", &COLUMNS, &html! {
                    @for letter in letters { (row(letter, parts)) }
                }))
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
                data-needs-selection[lacks.is_none()] { "Redrive selected " span data-selected-count {} }
            label { input type="checkbox" name="settle" value="yes" checked; " and dismiss them" }
            (group("redrive", "Redrive the whole group…"))
        }
        div.bulk.row {
            label { "Reason " input name="reason" required disabled[lacks.is_some()] autocomplete="off"; }
            button.danger type="submit" name="action" value="dismiss" data-ask="Dismiss {n} dead letters?" disabled[lacks.is_some()] title=[lacks]
                data-needs-selection[lacks.is_none()] { "Dismiss selected " span data-selected-count {} }
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
            th scope="row" { (job_link(letter.job_id)) }
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
        (table("Dismissed dead letters, newest job first", &["Job", "Type", "Reason code", "Error", "Dismissed", "By", "Reason"], &html! {
            @for (letter, job_type) in letters {
                tr {
                    th scope="row" { (job_link(letter.job_id)) }
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
