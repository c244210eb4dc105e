//! What a job is, at a glance: its state and how far it is, whose it is, and the commands that do the same elsewhere.

use maud::{Markup, html};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::id::JobId;
use tenure_core::job::Job;
use tenure_core::lifecycle::Phase;
use tenure_core::time::Now;
use tenure_service::links::encode;
use tenure_service::shell_quote::shell_quote;

use super::why::command_line;
use crate::format::{state, until, when};
use crate::pretty::cut;

/// Letters of a worker's message.
const MESSAGE_LETTERS: usize = 300;
/// Where the command line looks if nothing is said.
const USUAL_SERVER: &str = "http://127.0.0.1:7117";

/// Where it is and how far.
pub(super) fn standing(job: &Job, letter: Option<&DeadLetter>) -> Markup {
    // What an attempt that is over had reached says nothing of the next.
    let progress = job.output.progress.as_deref().filter(|_| job.phase != Phase::Ready);
    html! {
        p.standing data-tell="" {
            (state(job.state.as_str(), job.phase))
            @if let Some(progress) = progress {
                " " progress max="100" value=(progress.percent) aria-label="Progress" { (progress.percent) " %" }
                " " (percent(progress.percent))
                @if let Some(message) = &progress.message { " " span.quiet { (cut(message, MESSAGE_LETTERS)) } }
            }
        }
        @if let Some(letter) = letter {
            p {
                "Dead letter: " strong { (letter.reason_code.as_str()) }
                @if let Some(dismissed) = &letter.dismissed {
                    ", put aside " (when(dismissed.at)) " by " (dismissed.by) ": " (cut(&dismissed.reason, MESSAGE_LETTERS))
                }
            }
        }
    }
}

/// What changes with its attempts.
pub(super) fn tenure(job: &Job, now: Now) -> Markup {
    html! {
        div {
            dt { "Attempt" }
            dd {
                (job.attempt) " of " (job.spec.max_attempts)
                @if job.retry_count > 0 { span.quiet { " · " (job.retry_count) " failed" } }
            }
        }
        @if let Some(worker) = job.worker() {
            div { dt { "Worker" } dd { a href=(format!("/ui/jobs?worker={}", encode(worker.as_str()))) { (worker) } } }
        }
        @if let Some(lease) = &job.lease { div { dt { "Lease ends" } dd { (until(now.calendar(lease.expires()))) } } }
        @if let Some(end) = job.times.completed_at { div { dt { "Over" } dd { (when(end)) } } }
    }
}

/// `40 %`, `33.3 %`.
fn percent(percent: f64) -> String {
    if percent.fract() == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// What stays.
pub(super) fn asked_for(job: &Job) -> Markup {
    let spec = &job.spec;
    let of =
        |what: &str, name: &str| html! { a href=(format!("/ui/jobs?{what}={}", encode(name))) { (name) } };
    let follows = &spec.lifecycle;
    html! {
        dl.facts {
            div { dt { "Type" } dd { (of("type", spec.job_type.as_str())) } }
            div {
                dt { "Lifecycle" }
                dd { a href=(format!("/ui/lifecycles/{}", encode(follows.name.as_str()))) { (follows.name) } " v" (follows.version) }
            }
            div { dt { "Queue" } dd { (of("queue", spec.queue.as_str())) } }
            div { dt { "User" } dd { @match &spec.user_id { Some(user) => (of("user_id", user.as_str())), None => span.quiet { "nobody's" } } } }
            div { dt { "Priority" } dd { (spec.priority) } }
            div { dt { "Created" } dd { (when(spec.created_at)) } }
        }
    }
}

/// The same elsewhere: what to type in a terminal. `server` is where the visitor found this page.
pub(super) fn commands(id: JobId, server: &str, is_open: bool) -> Markup {
    let at =
        if server == USUAL_SERVER { String::new() } else { format!("--server {} ", shell_quote(server)) };
    let key = if is_open { "" } else { "-H \"Authorization: Bearer $TENURE_KEY\" " };
    let tenure = |call: &str| format!("tenure {at}{call} {id}");
    let curl = |post: &str, call: &str| {
        format!("curl {post}{key}{}", shell_quote(&format!("{server}/api/jobs/{id}{call}")))
    };
    let lines = [
        ("Look at it", tenure("job get"), curl("", "")),
        ("Why it is here", tenure("explain"), curl("", "/explain")),
        ("Its log", tenure("job logs --follow"), curl("", "/logs")),
        ("Cancel it", tenure("job cancel"), curl("-X POST ", "/cancel")),
        ("Do it again", tenure("job retry"), curl("-X POST ", "/retry")),
    ];
    html! {
        details {
            summary { "As CLI and as curl" }
            div.wide tabindex="0" role="region" aria-label="Commands" {
                table.close {
                    caption.unseen { "Commands that do the same in a terminal" }
                    thead { tr { th scope="col" {} th scope="col" { "CLI" } th scope="col" { "curl" } } }
                    tbody {
                        @for (what, tenure, curl) in &lines {
                            tr { th scope="row" { (what) } td { (command_line(tenure)) } td { (command_line(curl)) } }
                        }
                    }
                }
            }
        }
    }
}
