//! The head of a job's page: state, progress, attempt, spec, and the same actions as commands.

use tenure_core::time::Now;
use tenure_service::shell_quote::shell_quote;

use super::why::command_line;
use crate::prelude::*;

const MESSAGE_CHARS: usize = 300;
/// Default of the command line.
const DEFAULT_SERVER: &str = "http://127.0.0.1:7117";

pub(super) fn status(job: &Job, letter: Option<&DeadLetter>) -> Markup {
    // Progress of a finished attempt says nothing about the next.
    let progress = job.output.progress.as_deref().filter(|_| job.phase != Phase::Ready);
    html! {
        p.status data-tell="" {
            (state(job.state.as_str(), job.phase))
            @if let Some(progress) = progress {
                " " progress max="100" value=(progress.percent) aria-label="Progress" { (progress.percent) " %" }
                " " (percent(progress.percent))
                @if let Some(message) = &progress.message { " " span.quiet { (cut(message, MESSAGE_CHARS)) } }
            }
        }
        @if let Some(letter) = letter {
            p {
                "Dead letter: " strong { (letter.reason_code.as_str()) }
                @if let Some(dismissed) = &letter.dismissed {
                    ", dismissed " (when(dismissed.at)) " by " (dismissed.by) ": " (cut(&dismissed.reason, MESSAGE_CHARS))
                }
            }
        }
    }
}

/// What changes with each attempt.
pub(super) fn attempt(job: &Job, now: Now) -> Markup {
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
        @if let Some(end) = job.times.completed_at { div { dt { "Finished" } dd { (when(end)) } } }
    }
}

/// `40 %`, `33.3 %`.
fn percent(percent: f64) -> String {
    if percent.fract() == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// What never changes.
pub(super) fn spec(job: &Job) -> Markup {
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
            div { dt { "User" } dd { @match &spec.user_id { Some(user) => (of("user_id", user.as_str())), None => span.quiet { "none" } } } }
            div { dt { "Priority" } dd { (job.priority()) } }
            @if let Some(key) = &job.flow().unique { div { dt { "Unique key" } dd { (key) } } }
            div { dt { "Created" } dd { (when(spec.created_at)) } }
        }
    }
}

/// Commands for a terminal. `server` is the address of this page's server.
pub(super) fn commands(id: JobId, server: &str, is_open: bool) -> Markup {
    let at =
        if server == DEFAULT_SERVER { String::new() } else { format!("--server {} ", shell_quote(server)) };
    let key = if is_open { "" } else { "-H \"Authorization: Bearer $TENURE_KEY\" " };
    let tenure = |call: &str| format!("tenure {at}{call} {id}");
    let curl = |post: &str, call: &str| {
        format!("curl {post}{key}{}", shell_quote(&format!("{server}/api/jobs/{id}{call}")))
    };
    let link = format!("{server}{}", job_address(id));
    let lines = [
        ("Get", tenure("job get"), curl("", "")),
        ("Explain", tenure("explain"), curl("", "/explain")),
        ("Follow the log", tenure("job logs --follow"), curl("", "/logs")),
        ("Cancel", tenure("job cancel"), curl("-X POST ", "/cancel")),
        ("Retry", tenure("job retry"), curl("-X POST ", "/retry")),
    ];
    html! {
        details {
            summary { "CLI and curl" }
            (styled_table("close rows", "Commands for a terminal", &["Action", "CLI", "curl"], &html! {
                @for (what, tenure, curl) in &lines {
                    tr { th scope="row" { (what) } td { (command_line(tenure)) } td { (command_line(curl)) } }
                }
            }))
        }
        p { span.id { (id) } " " button type="button" data-copy=(id) { "Copy id" } " " button type="button" data-copy=(link) { "Copy link" } }
    }
}
