//! Why a job is where it is: what it waits for, which clocks run, what may happen next and who may do it.

use serde_json::{Value, json};
use tenure_core::job::Job;
use tenure_core::lifecycle::{Lifecycle, Phase, Trigger};
use tenure_core::time::{Deadline, Millis, Now};
use tenure_store::Store as _;

use crate::app::App;
use crate::problem::{INTERNAL, Problem};

pub(crate) async fn explain(app: &App, job: &Job) -> Result<Value, Problem> {
    let now = app.store().now().await?;
    let catalog = app.runtime().catalog();
    let lifecycle = catalog.lifecycle(&job.spec.lifecycle).ok_or_else(|| {
        Problem::new(&INTERNAL, format!("lifecycle {} is not loaded on this node", job.spec.lifecycle.name))
    })?;
    let waiting_for = waiting_for(app, job, now).await?;
    let entered = job.times.entered.iter().find(|(state, _)| *state == job.state).map(|(_, at)| *at);
    let since = entered.unwrap_or(job.times.updated_at);
    let first = waiting_for.first().and_then(|it| it["detail"].as_str()).map(|detail| format!("; {detail}"));
    let summary = format!("{} for {}{}", job.state, shortly(now.at - since), first.unwrap_or_default());
    Ok(json!({
        "job_id": job.id(),
        "type": job.spec.job_type,
        "state": job.state,
        "phase": job.phase.as_str(),
        "since": since,
        "summary": summary,
        "waiting_for": waiting_for,
        "clocks": clocks(job, lifecycle, now),
        "next": next(job, lifecycle),
    }))
}

/// Whole seconds are enough for people.
fn shortly(span: Millis) -> Millis {
    if span.0 < 1000 { span } else { Millis(span.0 / 1000 * 1000) }
}

async fn waiting_for(app: &App, job: &Job, now: Now) -> Result<Vec<Value>, Problem> {
    let mut found = Vec::new();
    let mut say = |what: &str, detail: String, until: Option<Value>| {
        found.push(json!({ "what": what, "detail": detail, "until": until }));
    };
    match job.phase {
        Phase::Ready => {
            if job.run_at > now.at {
                let (what, why) =
                    if job.retry_count > 0 { ("backoff", "the next attempt") } else { ("run_at", "it") };
                say(what, format!("{why} may be claimed at {}", job.run_at), Some(json!(job.run_at)));
            }
            if app.store().paused().await?.contains(&job.spec.queue) {
                say("paused_queue", format!("queue {} is paused", job.spec.queue), None);
            }
            if job.run_at <= now.at && !app.runtime().is_awaited(&job.spec.queue, &job.spec.job_type) {
                let detail =
                    format!("no worker waits for type {} in queue {}", job.spec.job_type, job.spec.queue);
                say("worker", detail, None);
            }
        }
        Phase::Held | Phase::Active => {
            let worker = job.lease.as_ref().map(|lease| lease.worker.to_string()).unwrap_or_default();
            let verb = if job.phase == Phase::Held { "start" } else { "finish" };
            let until = job.lease.as_ref().map(|lease| json!(now.calendar(lease.expires())));
            say("worker", format!("worker {worker} has it and is to {verb} it"), until);
            if let Some(cancel) = &job.cancel {
                let at = now.calendar(cancel.hard_at);
                say(
                    "cancel",
                    format!("a cancel was asked for by {}; it becomes hard at {at}", cancel.by),
                    Some(json!(at)),
                );
            }
        }
        Phase::Waiting => {
            let at = job.clocks.due.map(|due| now.calendar(due));
            say(
                "due",
                at.map_or_else(|| "a signal".to_owned(), |at| format!("it goes on at {at}")),
                at.map(|at| json!(at)),
            );
        }
        Phase::Final(outcome) => {
            let error =
                job.output.error.as_ref().map(|error| format!(": {}", error.text())).unwrap_or_default();
            say("nothing", format!("it is over, {outcome}{error}"), None);
        }
    }
    Ok(found)
}

/// Clocks that run, soonest first.
fn clocks(job: &Job, lifecycle: &Lifecycle, now: Now) -> Vec<Value> {
    let to = |trigger: &Trigger| targets(lifecycle, job.state.as_str(), trigger);
    let mut running: Vec<(Deadline, Trigger)> = Vec::new();
    running.extend(job.clocks.timeout.map(|at| (at, Trigger::Timeout)));
    running.extend(job.clocks.due.map(|at| (at, Trigger::Due)));
    running.extend(job.lease.as_ref().map(|lease| (lease.expires(), Trigger::LeaseExpired)));
    running.extend(job.cancel.as_ref().map(|cancel| (cancel.hard_at, Trigger::Cancel)));
    running.sort();
    let shown = running
        .iter()
        .map(|(at, trigger)| json!({ "trigger": trigger, "at": now.calendar(*at), "to": to(trigger) }));
    shown.collect()
}

fn targets(lifecycle: &Lifecycle, from: &str, trigger: &Trigger) -> Vec<String> {
    let rules = lifecycle.rules.iter();
    let fitting =
        rules.filter(|rule| rule.on == *trigger && rule.from.as_ref().is_some_and(|name| name == from));
    let mut to: Vec<String> = fitting.map(|rule| rule.to.to_string()).collect();
    to.dedup();
    to
}

/// What may happen next, and who may do it.
fn next(job: &Job, lifecycle: &Lifecycle) -> Vec<Value> {
    let who = |trigger: &Trigger| -> &[&str] {
        match trigger {
            Trigger::Claim
            | Trigger::Start
            | Trigger::Succeed
            | Trigger::Partial
            | Trigger::Fail
            | Trigger::Release => &["worker"],
            Trigger::Reject if job.phase.is_leased() => &["worker"],
            Trigger::Reject | Trigger::DeadLetter => &["operator"],
            Trigger::Cancel | Trigger::Signal(_) | Trigger::Create => &["owner", "operator"],
            Trigger::Timeout | Trigger::LeaseExpired | Trigger::Due => &["clock"],
            Trigger::Disconnected => &["connection"],
        }
    };
    let allowed = lifecycle.allowed(job.state.as_str());
    let shown = allowed.iter().map(|trigger| {
        json!({ "trigger": trigger, "to": targets(lifecycle, job.state.as_str(), trigger), "who": who(trigger) })
    });
    shown.collect()
}
