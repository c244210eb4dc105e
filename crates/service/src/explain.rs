//! Explains why a job is in its state: what it waits for, which clocks run, and which transitions are possible.

use tenure_core::id::TypeName;
use tenure_core::lifecycle::{Lifecycle, Outcome, Phase, Trigger};
use tenure_core::time::{Deadline, Now};

use tenure_store::{WaitKind, WaitReport};

use crate::lifecycles::of_job;
use crate::prelude::*;
use crate::shell_quote::shell_quote;

#[derive(Clone, Debug)]
pub struct Explanation {
    pub job_id: JobId,
    pub job_type: TypeName,
    pub state: StateName,
    pub phase: &'static str,
    /// When the job entered this state.
    pub since: Timestamp,
    /// One sentence.
    pub summary: String,
    pub waiting_for: Vec<Waiting>,
    /// What flow control makes it wait for.
    pub waits_for: Vec<WaitReport>,
    /// Soonest first.
    pub clocks: Vec<Clock>,
    pub next: Vec<NextStep>,
    /// Suggested commands.
    pub suggestions: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Waiting {
    /// A stable code.
    pub what: &'static str,
    pub detail: String,
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub struct Clock {
    pub trigger: Trigger,
    pub at: Timestamp,
    pub to: Vec<StateName>,
}

/// A possible transition.
#[derive(Clone, Debug)]
pub struct NextStep {
    pub trigger: Trigger,
    pub to: Vec<StateName>,
    /// Who can trigger it.
    pub who: Vec<&'static str>,
}

/// Explains a job to a caller who may see it.
pub async fn explain(service: &Service, caller: &Caller, job: &Job) -> Result<Explanation> {
    let now = service.store().now().await?;
    let mut waits_for = service.store().waits(job.id()).await?;
    hide_unseen(service, caller, &mut waits_for).await?;
    let mut waiting_for = waiting_for(service, job, now).await?;
    // The reason of a job that could be claimed otherwise comes first.
    waiting_for.splice(0..0, waits_for.iter().map(flow_wait));
    let lifecycle = &*of_job(service, job).await?;
    let entered = job.times.entered.iter().find(|(state, _)| *state == job.state).map(|(_, at)| *at);
    let since = entered.unwrap_or(job.times.updated_at);
    let first = waiting_for.first().map(|waiting| format!("; {}", waiting.detail));
    let summary = format!("{} for {}{}", job.state, rounded(now.at - since), first.unwrap_or_default());
    let next = next(job, lifecycle);
    Ok(Explanation {
        job_id: job.id(),
        job_type: job.spec.job_type.clone(),
        state: job.state.clone(),
        phase: job.phase.as_str(),
        since,
        summary,
        suggestions: suggestions(job, &waiting_for, &next),
        waiting_for,
        waits_for,
        clocks: clocks(job, lifecycle, now),
        next,
    })
}

/// Removes the ids of jobs that the caller may not see.
async fn hide_unseen(service: &Service, caller: &Caller, waits: &mut [WaitReport]) -> Result<()> {
    for wait in waits {
        let mut seen = Vec::new();
        for id in std::mem::take(&mut wait.holders) {
            let job = service.store().job(id).await?;
            if let Some(job) = job
                && service.may_see(caller, &job).await?
            {
                seen.push(id);
            }
        }
        wait.holders = seen;
    }
    Ok(())
}

/// A wait for flow control, in words.
fn flow_wait(wait: &WaitReport) -> Waiting {
    let bucket = match (&wait.resource, &wait.key) {
        (Some(resource), Some(key)) => format!("resource {resource} for key {key}"),
        (Some(resource), None) => format!("resource {resource}"),
        (None, Some(key)) => format!("key {key}"),
        (None, None) => "the type".to_owned(),
    };
    let (running, limit) = (wait.running.unwrap_or_default(), wait.limit.unwrap_or_default());
    let first = wait.holders.first();
    let share = wait.key.as_ref().map_or_else(|| "no key".to_owned(), |key| format!("key {key}"));
    let (what, detail) = match wait.kind {
        WaitKind::Running => {
            ("resource", format!("{bucket} has {running} of {limit} units in use{}", ahead(wait.before)))
        }
        WaitKind::Rate => ("resource", format!("{bucket} has too few tokens{}", ahead(wait.before))),
        WaitKind::Pause => ("resource", format!("{bucket} is paused{}", ahead(wait.before))),
        WaitKind::Sequence => (
            "sequence",
            format!(
                "{} of the sequence of {bucket} {} first{}",
                if wait.before == 1 { "1 job".to_owned() } else { format!("{} jobs", wait.before) },
                if wait.before == 1 { "comes" } else { "come" },
                first.map_or_else(String::new, |first| format!("; job {first} is next"))
            ),
        ),
        WaitKind::Halt => {
            let failed = first.map_or_else(|| "a job".to_owned(), |first| format!("job {first}"));
            ("sequence", format!("the sequence of {bucket} has been halted since {failed} failed"))
        }
        WaitKind::Share => (
            "share",
            format!(
                "{share} has {running} leases with weight {limit}; jobs of {} other keys come first",
                wait.before
            ),
        ),
        WaitKind::Batch => ("batch", format!("{running} of {limit} jobs for a group of {bucket} are there")),
    };
    Waiting { what, detail, until: wait.until }
}

/// Ready jobs that need the same.
fn ahead(jobs: usize) -> String {
    match jobs {
        0 => String::new(),
        1 => ", and 1 job comes first".to_owned(),
        more => format!(", and {more} jobs come first"),
    }
}

/// Drops milliseconds from spans of a second or more.
fn rounded(span: Millis) -> Millis {
    if span.0 < 1000 { span } else { Millis(span.0 / 1000 * 1000) }
}

async fn waiting_for(service: &Service, job: &Job, now: Now) -> Result<Vec<Waiting>> {
    let mut found = Vec::new();
    let mut add = |what, detail, until| found.push(Waiting { what, detail, until });
    match job.phase {
        Phase::Ready => {
            if job.run_at == Timestamp::NEVER {
                add("signal", format!("state {} has no rule for a claim", job.state), None);
            } else if job.run_at > now.at {
                let (what, why) =
                    if job.retry_count > 0 { ("backoff", "the next attempt") } else { ("run_at", "the job") };
                add(what, format!("{why} may be claimed at {}", job.run_at), Some(job.run_at));
            }
            if service.store().paused().await?.contains(&job.spec.queue) {
                add("paused_queue", format!("queue {} is paused", job.spec.queue), None);
            }
            if job.run_at <= now.at
                && !service.stats().is_awaited(&job.spec.queue, &job.spec.job_type).await?
            {
                let detail =
                    format!("no worker waits for type {} in queue {}", job.spec.job_type, job.spec.queue);
                add("worker", detail, None);
            }
        }
        Phase::Held | Phase::Active => {
            let worker = job.lease.as_ref().map(|lease| lease.worker.to_string()).unwrap_or_default();
            let verb = if job.phase == Phase::Held { "start" } else { "finish" };
            let until = job.lease.as_ref().map(|lease| now.calendar(lease.expires()));
            add("worker", format!("worker {worker} holds it and has to {verb} it"), until);
            if let Some(cancel) = &job.cancel {
                let at = now.calendar(cancel.hard_at);
                let detail = format!("{} requested a cancel, which becomes hard at {at}", cancel.by);
                add("cancel", detail, Some(at));
            }
        }
        Phase::Waiting => match job.clocks.due.map(|due| now.calendar(due)) {
            Some(at) => add("due", format!("it continues at {at}"), Some(at)),
            None => add("signal", "it waits for a signal".to_owned(), None),
        },
        Phase::Final(outcome) => {
            let error = job.output.error.as_ref().map(|error| format!(" ({})", error.text()));
            add("nothing", format!("finished: {outcome}{}", error.unwrap_or_default()), None);
        }
    }
    Ok(found)
}

/// Running clocks, soonest first.
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

fn targets(lifecycle: &Lifecycle, from: &str, trigger: &Trigger) -> Vec<StateName> {
    let rules = lifecycle.rules.iter();
    let fitting =
        rules.filter(|rule| rule.on == *trigger && rule.from.as_ref().is_some_and(|name| name == from));
    let mut to: Vec<StateName> = fitting.map(|rule| rule.to.clone()).collect();
    to.dedup();
    to
}

fn next(job: &Job, lifecycle: &Lifecycle) -> Vec<NextStep> {
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
            Trigger::Signal(_) | Trigger::Cancel | Trigger::Create | Trigger::Amend => &["owner", "operator"],
            Trigger::Timeout | Trigger::LeaseExpired | Trigger::Due => &["clock"],
            Trigger::Disconnected => &["connection"],
        }
    };
    let allowed = lifecycle.allowed(job.state.as_str()).into_iter();
    let shown = allowed.map(|trigger| NextStep {
        to: targets(lifecycle, job.state.as_str(), &trigger),
        who: senders(lifecycle, job.state.as_str(), &trigger).unwrap_or_else(|| who(&trigger).to_vec()),
        trigger,
    });
    shown.collect()
}

/// The senders to which the rules of a signal restrict it.
fn senders(lifecycle: &Lifecycle, from: &str, trigger: &Trigger) -> Option<Vec<&'static str>> {
    let by = lifecycle.rules_from(from).find(|rule| rule.on == *trigger)?.by.as_ref()?;
    let name = |role: &Role| if *role == Role::Producer { "owner" } else { role.as_str() };
    Some(by.iter().map(name).collect())
}

/// Commands that move the job on or tell more about it.
fn suggestions(job: &Job, waiting_for: &[Waiting], next: &[NextStep]) -> Vec<String> {
    let id = job.id();
    let waits = |what: &str| waiting_for.iter().any(|waiting| waiting.what == what);
    let mut suggestions = Vec::new();
    match job.phase {
        Phase::Ready => {
            if waits("worker") {
                suggestions
                    .push(format!("tenure work {} -- COMMAND", shell_quote(job.spec.job_type.as_str())));
            }
            if waits("paused_queue") {
                suggestions.push(format!("tenure queue resume {}", shell_quote(job.spec.queue.as_str())));
            }
        }
        Phase::Held | Phase::Active => suggestions.push(format!("tenure job logs --follow {id}")),
        Phase::Waiting => {
            let signals = next.iter().filter_map(|step| match &step.trigger {
                Trigger::Signal(name) => Some(format!("tenure job signal {id} {name}")),
                _ => None,
            });
            suggestions.extend(signals);
        }
        Phase::Final(outcome) => {
            let again = if outcome == Outcome::Dead { "dead redrive" } else { "job retry" };
            suggestions.extend([format!("tenure job events {id}"), format!("tenure {again} {id}")]);
        }
    }
    suggestions
}
