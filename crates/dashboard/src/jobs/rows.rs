//! The table of jobs, in a form for bulk actions. Each cell that may change is updated separately.

use tenure_core::job::{JobError, Progress};

use crate::jobs::AllowedActions;
use crate::jobs::filters::Filters;
use crate::prelude::*;

/// Characters of an error message in a row.
const ERROR_CHARS: usize = 120;

pub(crate) struct Bulk<'a> {
    pub(crate) filters: &'a Filters,
    pub(crate) allowed: AllowedActions,
    /// The page to return to.
    pub(crate) back: String,
    pub(crate) lacks_own: Option<String>,
    pub(crate) lacks_operate: Option<String>,
}

const COLUMNS: [&str; 11] =
    ["", "State", "Job", "Type", "User", "Attempt", "Progress", "Created", "In state", "Worker", "Error"];

pub(crate) fn draw(bulk: &Bulk<'_>, jobs: &[Arc<Job>], parts: &mut Parts) -> Markup {
    html! {
        form method="post" action="/ui/jobs/actions" {
            input type="hidden" name="back" value=(bulk.back);
            (bulk.bar())
            (styled_table("jobs", "Jobs, newest first", &COLUMNS, &html! { @for job in jobs { (row(job, parts)) } }))
        }
    }
}

fn row(job: &Job, parts: &mut Parts) -> Markup {
    let (id, spec) = (job.id(), &job.spec);
    let mut cell = |letter: char, content: Markup| {
        let id_attr = format!("{letter}-{}", id.0.simple());
        html! { td id=(id_attr) { (parts.keep(id_attr.as_str(), content)) } }
    };
    let status = html! { (state(job.state.as_str(), job.phase)) @if job.cancel.is_some() { " " span.quiet { "cancelling" } } };
    html! {
        tr {
            td { input type="checkbox" name="job" value=(id) aria-label=(format!("Select job {id}")); }
            (cell('s', status))
            th scope="row" { (job_link(id)) }
            td { a.plain href=(format!("/ui/jobs?type={}", encode(spec.job_type.as_str()))) { (spec.job_type) } }
            td { @if let Some(user) = &spec.user_id { (user) } }
            (cell('a', html! { (job.attempt) span.quiet { " of " (spec.max_attempts) } }))
            (cell('p', html! { @if let Some(progress) = &job.output.progress { (bar(progress)) } }))
            td data-label="Created" { (when(spec.created_at)) }
            (cell('i', when(since(job))))
            (cell('w', html! { @if let Some(worker) = job.worker() { (worker) } }))
            (cell('e', html! { @if let Some(error) = &job.output.error { (failure(error)) } }))
        }
    }
}

/// When the job entered its state.
fn since(job: &Job) -> Timestamp {
    let entered = job.times.entered.iter().find(|(state, _)| *state == job.state);
    entered.map_or(job.times.updated_at, |(_, at)| *at)
}

fn bar(progress: &Progress) -> Markup {
    let percent = progress.percent.round();
    html! { span title=[progress.message.as_ref()] { progress max="100" value=(percent) aria-label="Progress" {} " " (percent) " %" } }
}

/// Code and first line of the message.
pub(crate) fn failure(error: &JobError) -> Markup {
    let line = error.message.lines().next().unwrap_or_default();
    let is_cut = line.chars().count() > ERROR_CHARS;
    let short: String = line.chars().take(ERROR_CHARS).collect();
    html! { code { (error.code) } " " span.quiet { (short) @if is_cut { "…" } } }
}

impl Bulk<'_> {
    fn bar(&self) -> Markup {
        let (own, operate) = (self.lacks_own.as_deref(), self.lacks_operate.as_deref());
        let offered = [
            (self.allowed.retry, "retry", "Retry", None, own),
            (self.allowed.cancel, "cancel", "Cancel", Some("Cancel {n} jobs?"), own),
            (self.allowed.retry, "delete", "Delete", Some("Delete {n} jobs?"), operate),
        ];
        html! {
            div.bulk.row {
                @for (is_allowed, action, label, ask, lacks) in offered {
                    @if is_allowed { (selected(action, label, ask, lacks)) (self.all(action, label)) }
                }
            }
        }
    }

    /// Leads to the confirmation page.
    fn all(&self, action: &str, label: &str) -> Markup {
        let lacks = self.lacks_operate.as_deref();
        let lacks = lacks.or((!self.allowed.is_unambiguous()).then_some("Choose a state first"));
        html! {
            @if lacks.is_some() {
                button type="button" disabled title=[lacks] { (label) " all matching…" }
            } @else {
                a.button href=(self.filters.address("/ui/jobs/actions", &[("action", action)])) { (label) " all matching…" }
            }
        }
    }
}

/// A button for the selected jobs; `lacks` says why the visitor cannot use it.
fn selected(action: &str, label: &str, ask: Option<&str>, lacks: Option<&str>) -> Markup {
    html! {
        button type="submit" name="action" value=(action) class=[ask.map(|_| "danger")] data-ask=[ask]
            disabled[lacks.is_some()] title=[lacks] data-needs-selection[lacks.is_none()] { (label) " selected " span data-selected-count {} }
    }
}
