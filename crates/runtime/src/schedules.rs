//! Schedules: looks for those whose time has come and fires them. Every node does; the commit decides who was first.
//!
//! Times are the calendar's, so an outage moves none of them; a time that passed more than [`LATE_MS`] ago was missed,
//! and the schedule says what becomes of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::command::{CommandEnvelope, Command, Create, CreationKey, When};
use tenure_core::decide::{CommandResult, CommandOutput};
use tenure_core::id::{Actor, Name};
use tenure_core::job::Links;
use tenure_core::limits;
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::refusal::{Pointed, Refusal};
use tenure_core::schedule::{Fire, Misfire, NewSchedule, Plan, Schedule, ScheduleChange};
use tenure_core::time::Timestamp;
use tenure_store::Store;

use crate::admission::{self, NewJob};
use crate::cron::Cron;
use crate::failure::Failure;
use crate::{Inner, Runtime};

/// Later than this, a time counts as missed.
const LATE_MS: i64 = 60_000;

/// Schedules that are fired before others are looked for.
const DUE_SCHEDULES_MAX: usize = 500;

impl<S: Store> Runtime<S> {
    /// Adds a schedule, if its expression, its time zone and its job can be used.
    pub async fn add_schedule(&self, by: Actor, id: Name, plan: Plan) -> Result<CommandResult, Failure> {
        let now = self.now();
        match self.inner.check(&plan, now) {
            Ok(next_at) => {
                let command = Command::AddSchedule(Box::new(NewSchedule { id, plan, next_at }));
                self.submit(CommandEnvelope { by, key: None, command }).await
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Lets a schedule go on, at its next time from now.
    pub async fn resume_schedule(&self, by: Actor, schedule: &Schedule) -> Result<CommandResult, Failure> {
        match next(&schedule.plan, self.now()) {
            Ok(next_at) => {
                let change = ScheduleChange::Resume(next_at);
                let command = Command::ChangeSchedule { id: schedule.id.clone(), change };
                self.submit(CommandEnvelope { by, key: None, command }).await
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }
}

/// Fires what is due, as promptly as the sweeper sweeps.
pub(crate) async fn keep_firing<S: Store>(inner: Arc<Inner<S>>) {
    let mut stuck = BTreeSet::new();
    while inner.pause(inner.options.sweep_every).await {
        inner.fire_due(&mut stuck).await;
    }
}

impl<S: Store> Inner<S> {
    /// One that cannot be read here (a time zone that this node does not know) stays behind and blocks nobody.
    async fn fire_due(&self, stuck: &mut BTreeSet<(Name, Timestamp)>) {
        let limit = DUE_SCHEDULES_MAX + stuck.len();
        let Ok(due) = self.store.due_automations(AutomationKind::Schedule, limit).await else { return };
        for order in due {
            let Automation::Schedule(schedule) = order else { continue };
            // Another may get its name later.
            let which = (schedule.id.clone(), schedule.created_at);
            if stuck.contains(&which) {
                continue;
            }
            if let Err(refusal) = self.fire_all(schedule).await {
                tracing::error!(schedule = %which.0, %refusal, "its time has come and it cannot be fired");
                stuck.insert(which);
            }
        }
    }

    /// Fires a schedule until its next time is still to come. What the store could not take is tried at the next turn.
    async fn fire_all(&self, mut schedule: Schedule) -> Result<(), Refusal> {
        let cron = Cron::parse(&schedule.plan.cron, schedule.plan.timezone.as_str())?;
        loop {
            let Ok(now) = self.store.now().await.map(|now| now.at) else { return Ok(()) };
            let Some(due_at) = schedule.next_at.filter(|at| *at <= now) else { return Ok(()) };
            let (occurrence, last) =
                turn(schedule.plan.misfire, &cron.between(due_at, now, limits::MISFIRES_MAX), now);
            let next_at = cron.next(last).ok_or_else(never)?;
            let occurrence = occurrence.map(|at| (at, self.job(&schedule, at, now)));
            let fire = Fire {
                schedule: schedule.id.clone(),
                due_at,
                last_job: schedule.last_job,
                next_at,
                occurrence,
            };
            let by = Actor(format!("schedule:{}", schedule.id).into());
            let asked = CommandEnvelope { by, key: None, command: Command::Fire(Box::new(fire)) };
            match self.submit(asked).await {
                Ok(Ok(CommandOutput::Automation { automation, .. })) => {
                    let Automation::Schedule(fired) = *automation else { return Ok(()) };
                    if let Some(error) = &fired.last_error {
                        tracing::warn!(schedule = %fired.id, %error, "a schedule made no job");
                    }
                    schedule = fired;
                }
                // It was removed, or the store is not there.
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }

    /// The job of an occurrence, past its type's entrance.
    fn job(&self, schedule: &Schedule, at: Timestamp, now: Timestamp) -> Result<Box<Create>, Refusal> {
        let correlation_id = Some(format!("{}@{at}", schedule.id).into());
        let links = Links { correlation_id, ..Links::default() };
        let new = NewJob { links, ..asked_for(&schedule.plan) };
        let id = self.ids.next(now, (self.options.chance)());
        match admission::admit(&self.in_force(), new, id, now)?.command {
            // It is the commit that makes it one, not a key.
            Command::Create(create) => Ok(Box::new(Create { key: CreationKey::None, ..*create })),
            _ => unreachable!("what is admitted is a creation"),
        }
    }

    /// When a new schedule fires first. Its job must be one that could be made; a guard may say yes another time.
    fn check(&self, plan: &Plan, now: Timestamp) -> Result<Timestamp, Refusal> {
        let next_at = next(plan, now)?;
        let id = self.ids.next(now, (self.options.chance)());
        match admission::admit(&self.in_force(), asked_for(plan), id, now) {
            Ok(_) | Err(Refusal::GuardRejected { .. }) => Ok(next_at),
            Err(Refusal::ValidationFailed(flaws)) => {
                let inside =
                    |flaw: Pointed| Pointed { pointer: flaw.pointer.replacen('#', "#/job", 1), ..flaw };
                Err(Refusal::ValidationFailed(flaws.into_iter().map(inside).collect()))
            }
            Err(refusal) => Err(refusal),
        }
    }
}

fn next(plan: &Plan, now: Timestamp) -> Result<Timestamp, Refusal> {
    Cron::parse(&plan.cron, plan.timezone.as_str())?.next(now).ok_or_else(never)
}

fn never() -> Refusal {
    Refusal::invalid("#/cron", "never comes")
}

fn asked_for(plan: &Plan) -> NewJob {
    let job = plan.job.clone();
    NewJob {
        lifecycle: job.lifecycle,
        user_id: job.user_id,
        queue: job.queue,
        priority: job.priority,
        max_attempts: job.max_attempts,
        when: When::Now,
        ..NewJob::new(job.job_type.as_str(), job.payload)
    }
}

/// Of the times that have come: the one to make a job for, if any, and the one after which the schedule goes on.
fn turn(misfire: Misfire, come: &[Timestamp], now: Timestamp) -> (Option<Timestamp>, Timestamp) {
    let (first, last) = (come[0], come[come.len() - 1]);
    match misfire {
        Misfire::All => (Some(first), first),
        Misfire::Once => (Some(last), last),
        Misfire::Skip => (Some(last).filter(|at| now.0 - at.0 <= LATE_MS), last),
    }
}
