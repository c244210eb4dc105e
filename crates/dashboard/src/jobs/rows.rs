//! The table of jobs, in the form that acts on those that are ticked. What changes in a row are its cells, each for itself.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::job::{Job, JobError, Progress};
use tenure_core::time::Timestamp;
use tenure_service::links::encode;

use crate::Parts;
use crate::format::{job as link, state, when};
use crate::jobs::Lawful;
use crate::jobs::filters::Asked;

/// Of what goes wrong, this much fits into a row.
const ERROR_CHARS: usize = 120;

/// What can be done to many of them.
pub(crate) struct Bulk<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) lawful: Lawful,
    /// Where the form leads back to.
    pub(crate) back: String,
    pub(crate) lacks_own: Option<String>,
    pub(crate) lacks_operate: Option<String>,
}

const COLUMNS: [&str; 10] =
    ["State", "Job", "Type", "User", "Attempt", "Progress", "Created", "In state", "Worker", "Error"];

/// The table and its form.
pub(crate) fn draw(bulk: &Bulk<'_>, jobs: &[Arc<Job>], parts: &mut Parts) -> Markup {
    html! {
        form method="post" action="/ui/jobs/actions" {
            input type="hidden" name="back" value=(bulk.back);
            (bulk.bar())
            div.wide tabindex="0" role="region" aria-label="Jobs" {
                table.jobs {
                    caption.unseen { "Jobs, the newest first" }
                    thead {
                        tr {
                            th scope="col" { input type="checkbox" aria-label="Select all rows"; }
                            @for column in COLUMNS { th scope="col" { (column) } }
                        }
                    }
                    tbody { @for job in jobs { (row(job, parts)) } }
                }
            }
        }
    }
}

fn row(job: &Job, parts: &mut Parts) -> Markup {
    let (id, spec) = (job.id(), &job.spec);
    let mut cell = |letter: char, content: Markup| {
        let place = format!("{letter}-{}", id.0.simple());
        html! { td id=(place) { (parts.keep(place.as_str(), content)) } }
    };
    let stands = html! { (state(job.state.as_str(), job.phase)) @if job.cancel.is_some() { " " span.quiet { "cancelling" } } };
    html! {
        tr {
            td { input type="checkbox" name="job" value=(id) aria-label=(format!("Select job {id}")); }
            (cell('s', stands))
            th scope="row" { (link(id)) }
            td { a.plain href=(format!("/ui/jobs?type={}", encode(spec.job_type.as_str()))) { (spec.job_type) } }
            td { @if let Some(user) = &spec.user_id { (user) } }
            (cell('a', html! { (job.attempt) span.quiet { " of " (spec.max_attempts) } }))
            (cell('p', html! { @if let Some(progress) = &job.output.progress { (bar(progress)) } }))
            td { (when(spec.created_at)) }
            (cell('i', when(since(job))))
            (cell('w', html! { @if let Some(worker) = job.worker() { (worker) } }))
            (cell('e', html! { @if let Some(error) = &job.output.error { (failure(error)) } }))
        }
    }
}

/// Since when it is where it is.
fn since(job: &Job) -> Timestamp {
    let entered = job.times.entered.iter().find(|(state, _)| *state == job.state);
    entered.map_or(job.times.updated_at, |(_, at)| *at)
}

fn bar(progress: &Progress) -> Markup {
    let percent = progress.percent.round();
    html! { span title=[progress.message.as_ref()] { progress max="100" value=(percent) aria-label="Progress" {} " " (percent) " %" } }
}

/// The code, and the first line of what was said.
pub(crate) fn failure(error: &JobError) -> Markup {
    let line = error.message.lines().next().unwrap_or_default();
    let is_cut = line.chars().count() > ERROR_CHARS;
    let short: String = line.chars().take(ERROR_CHARS).collect();
    html! { code { (error.code) } " " span.quiet { (short) @if is_cut { "…" } } }
}

impl Bulk<'_> {
    fn bar(&self) -> Markup {
        let offered = [
            (self.lawful.retry, "retry", "Retry", None),
            (self.lawful.cancel, "cancel", "Cancel", Some("Cancel {n} jobs?")),
        ];
        html! {
            div.bulk.row {
                @for (is_lawful, action, label, ask) in offered {
                    @if is_lawful { (self.selected(action, label, ask)) (self.all(action, label)) }
                }
            }
        }
    }

    fn selected(&self, action: &str, label: &str, ask: Option<&str>) -> Markup {
        let lacks = self.lacks_own.as_deref();
        html! {
            button type="submit" name="action" value=(action) class=[ask.map(|_| "danger")] data-ask=[ask]
                disabled[lacks.is_some()] title=[lacks] data-needs-ticked[lacks.is_none()] { (label) " selected " span data-ticked {} }
        }
    }

    /// Leads to where the number is said before anything is done.
    fn all(&self, action: &str, label: &str) -> Markup {
        let lacks = self.lacks_operate.as_deref();
        let lacks = lacks.or((!self.lawful.is_settled()).then_some("Choose a state first"));
        html! {
            @if lacks.is_some() {
                button type="button" disabled title=[lacks] { (label) " all matching…" }
            } @else {
                a.button href=(self.asked.address("/ui/jobs/actions", &[("action", action)])) { (label) " all matching…" }
            }
        }
    }
}
