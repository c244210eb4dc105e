//! Why a job is where it is: what it waits for, which clocks run, what may happen next and who may do it.

use serde::Serialize;
use tenure_core::id::{JobId, Name, StateName, TypeName};
use tenure_core::job::Job;
use tenure_core::lifecycle::{Lifecycle, Outcome, Phase, Trigger};
use tenure_core::time::{Deadline, Millis, Now, Timestamp};
use tenure_store::Store as _;

use crate::lifecycles::of_job;
use crate::problem::Problem;
use crate::service::Service;
use crate::shell_quote::shell_quote;

/// All that is to be said; the call answers with it, and a job's page shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    pub job_id: JobId,
    #[serde(rename = "type")]
    pub job_type: TypeName,
    pub state: StateName,
    pub phase: &'static str,
    /// When it entered this state.
    pub since: Timestamp,
    /// One sentence.
    pub summary: String,
    pub waiting_for: Vec<Waiting>,
    /// Soonest first.
    pub clocks: Vec<Clock>,
    pub next: Vec<Step>,
    /// What could be typed now.
    #[serde(rename = "try")]
    pub tries: Vec<String>,
}

/// What must happen before a job moves on.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// Short and stable.
    pub what: &'static str,
    /// In words.
    pub detail: String,
    pub until: Option<Timestamp>,
}

/// A clock that runs.
#[derive(Clone, Debug, Serialize)]
pub struct Clock {
    pub trigger: Trigger,
    pub at: Timestamp,
    pub to: Vec<Name>,
}

/// What may happen next.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub trigger: Trigger,
    pub to: Vec<Name>,
    /// Who may do it.
    pub who: &'static [&'static str],
}

pub async fn explain(service: &Service, job: &Job) -> Result<Explanation, Problem> {
    let now = service.store().now().await?;
    let waiting_for = waiting_for(service, job, now).await?;
    let lifecycle = &*of_job(service, job)?;
    let entered = job.times.entered.iter().find(|(state, _)| *state == job.state).map(|(_, at)| *at);
    let since = entered.unwrap_or(job.times.updated_at);
    let first = waiting_for.first().map(|waiting| format!("; {}", waiting.detail));
    let summary = format!("{} for {}{}", job.state, shortly(now.at - since), first.unwrap_or_default());
    let next = next(job, lifecycle);
    Ok(Explanation {
        job_id: job.id(),
        job_type: job.spec.job_type.clone(),
        state: job.state.clone(),
        phase: job.phase.as_str(),
        since,
        summary,
        tries: tries(job, &waiting_for, &next),
        waiting_for,
        clocks: clocks(job, lifecycle, now),
        next,
    })
}

/// Whole seconds are enough for people.
fn shortly(span: Millis) -> Millis {
    if span.0 < 1000 { span } else { Millis(span.0 / 1000 * 1000) }
}

async fn waiting_for(service: &Service, job: &Job, now: Now) -> Result<Vec<Waiting>, Problem> {
    let mut found = Vec::new();
    let mut say = |what, detail, until| found.push(Waiting { what, detail, until });
    match job.phase {
        Phase::Ready => {
            if job.run_at > now.at {
                let (what, why) =
                    if job.retry_count > 0 { ("backoff", "the next attempt") } else { ("run_at", "it") };
                say(what, format!("{why} may be claimed at {}", job.run_at), Some(job.run_at));
            }
            if service.store().paused().await?.contains(&job.spec.queue) {
                say("paused_queue", format!("queue {} is paused", job.spec.queue), None);
            }
            if job.run_at <= now.at && !service.runtime().is_awaited(&job.spec.queue, &job.spec.job_type) {
                let detail =
                    format!("no worker waits for type {} in queue {}", job.spec.job_type, job.spec.queue);
                say("worker", detail, None);
            }
        }
        Phase::Held | Phase::Active => {
            let worker = job.lease.as_ref().map(|lease| lease.worker.to_string()).unwrap_or_default();
            let verb = if job.phase == Phase::Held { "start" } else { "finish" };
            let until = job.lease.as_ref().map(|lease| now.calendar(lease.expires()));
            say("worker", format!("worker {worker} has it and is to {verb} it"), until);
            if let Some(cancel) = &job.cancel {
                let at = now.calendar(cancel.hard_at);
                let detail = format!("a cancel was asked for by {}; it becomes hard at {at}", cancel.by);
                say("cancel", detail, Some(at));
            }
        }
        Phase::Waiting => {
            let at = job.clocks.due.map(|due| now.calendar(due));
            say("due", at.map_or_else(|| "a signal".to_owned(), |at| format!("it goes on at {at}")), at);
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
fn clocks(job: &Job, lifecycle: &Lifecycle, now: Now) -> Vec<Clock> {
    let mut running: Vec<(Deadline, Trigger)> = Vec::new();
    running.extend(job.clocks.timeout.map(|at| (at, Trigger::Timeout)));
    running.extend(job.clocks.due.map(|at| (at, Trigger::Due)));
    running.extend(job.lease.as_ref().map(|lease| (lease.expires(), Trigger::LeaseExpired)));
    running.extend(job.cancel.as_ref().map(|cancel| (cancel.hard_at, Trigger::Cancel)));
    running.sort();
    let shown = running.into_iter().map(|(at, trigger)| Clock {
        to: targets(lifecycle, job.state.as_str(), &trigger),
        trigger,
        at: now.calendar(at),
    });
    shown.collect()
}

fn targets(lifecycle: &Lifecycle, from: &str, trigger: &Trigger) -> Vec<Name> {
    let rules = lifecycle.rules.iter();
    let fitting =
        rules.filter(|rule| rule.on == *trigger && rule.from.as_ref().is_some_and(|name| name == from));
    let mut to: Vec<Name> = fitting.map(|rule| rule.to.clone()).collect();
    to.dedup();
    to
}

/// What may happen next, and who may do it.
fn next(job: &Job, lifecycle: &Lifecycle) -> Vec<Step> {
    let who = |trigger: &Trigger| -> &'static [&'static str] {
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
    let allowed = lifecycle.allowed(job.state.as_str()).into_iter();
    let shown = allowed.map(|trigger| Step {
        to: targets(lifecycle, job.state.as_str(), &trigger),
        who: who(&trigger),
        trigger,
    });
    shown.collect()
}

/// What could be typed now: what would help it on, or what tells more.
fn tries(job: &Job, waiting_for: &[Waiting], next: &[Step]) -> Vec<String> {
    let id = job.id();
    let waits = |what: &str| waiting_for.iter().any(|waiting| waiting.what == what);
    let mut tries = Vec::new();
    match job.phase {
        Phase::Ready => {
            if waits("worker") {
                tries.push(format!("tenure work {} -- COMMAND", shell_quote(job.spec.job_type.as_str())));
            }
            if waits("paused_queue") {
                tries.push(format!("tenure queue resume {}", shell_quote(job.spec.queue.as_str())));
            }
        }
        Phase::Held | Phase::Active => tries.push(format!("tenure job logs --follow {id}")),
        Phase::Waiting => {
            let signals = next.iter().filter_map(|step| match &step.trigger {
                Trigger::Signal(name) => Some(format!("tenure job signal {id} {name}")),
                _ => None,
            });
            tries.extend(signals);
        }
        Phase::Final(Outcome::Dead) => {
            tries.push(format!("tenure job events {id}"));
            tries.push(format!("tenure dead redrive {id}"));
        }
        Phase::Final(_) => {
            tries.push(format!("tenure job events {id}"));
            tries.push(format!("tenure job retry {id}"));
        }
    }
    tries
}
