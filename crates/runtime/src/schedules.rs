//! Fires due schedules. Every node tries; the commit decides which node is first.
//!
//! Times are calendar times, so an outage does not move them. A time more than `LATE_MS` ago was missed, and the
//! schedule's `misfire` policy applies.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::schedule::{Fire, Misfire, NewSchedule, Plan, RunNow, Schedule, ScheduleChange};

use crate::admission::{self, NewJob};
use crate::cron::Cron;
use crate::prelude::*;
use crate::{Answer, Inner, Runtime};

const LATE_MS: i64 = 60_000;

const DUE_SCHEDULES_MAX: usize = 500;

impl Runtime {
    /// Adds a schedule if its expression, time zone and job are valid.
    pub async fn add_schedule(&self, by: CommandOrigin, id: Name, plan: Plan) -> Answer {
        let checked = self.inner.check(&plan, self.now());
        let add = |next_at| Command::AddSchedule(Box::new(NewSchedule { id, plan, next_at }));
        self.submit_checked(by, None, checked.map(add)).await
    }

    /// Resumes a schedule at its next time from now.
    pub async fn resume_schedule(
        &self,
        by: CommandOrigin,
        schedule: &Schedule,
        key: Option<IdempotencyKey>,
    ) -> Answer {
        let change = next(&schedule.plan, self.now()).map(ScheduleChange::Resume);
        let command = |change| Command::ChangeSchedule { id: schedule.id.clone(), change };
        self.submit_checked(by, key, change.map(command)).await
    }

    /// Replaces the plan of a schedule if the new one is valid.
    pub async fn replace_schedule(&self, by: CommandOrigin, id: Name, plan: Plan) -> Answer {
        let checked = self.inner.check(&plan, self.now());
        let change = |next_at| ScheduleChange::Replace(Box::new(plan), next_at);
        let command = |next_at| Command::ChangeSchedule { id, change: change(next_at) };
        self.submit_checked(by, None, checked.map(command)).await
    }

    /// Creates the job of a schedule now; its times stay. The same key again answers the same job.
    pub async fn run_schedule(
        &self,
        by: CommandOrigin,
        schedule: &Schedule,
        key: Option<IdempotencyKey>,
    ) -> Answer {
        let now = self.now();
        let command = |job: Box<Create>| {
            let key = key.map_or(CreationKey::None, CreationKey::Given);
            let run = RunNow { last_job: schedule.last_job, job: Box::new(Create { key, ..*job }) };
            Command::ChangeSchedule { id: schedule.id.clone(), change: ScheduleChange::Run(Box::new(run)) }
        };
        self.submit_checked(by, None, self.inner.job(schedule, now, now).map(command)).await
    }

    /// Submits a command that passed its check.
    async fn submit_checked(
        &self,
        by: CommandOrigin,
        key: Option<IdempotencyKey>,
        checked: Result<Command, Refusal>,
    ) -> Answer {
        match checked {
            Ok(command) => self.submit(CommandEnvelope { by, key, command }).await,
            Err(refusal) => Ok(Err(refusal)),
        }
    }
}

pub(crate) async fn keep_firing(inner: Arc<Inner>) {
    let mut stuck = BTreeSet::new();
    while inner.pause(inner.options.sweep_every).await {
        inner.fire_due(&mut stuck).await;
    }
}

impl Inner {
    /// A schedule that cannot be evaluated here (for example, an unknown time zone) is excluded until the node restarts.
    async fn fire_due(&self, stuck: &mut BTreeSet<(Name, Timestamp)>) {
        let limit = DUE_SCHEDULES_MAX + stuck.len();
        let Ok(due) = self.store.due_automations(AutomationKind::Schedule, limit).await else { return };
        for automation in due {
            let Automation::Schedule(schedule) = automation else { continue };
            // A later schedule may have the same id.
            let which = (schedule.id.clone(), schedule.created_at);
            if stuck.contains(&which) {
                continue;
            }
            if let Err(refusal) = self.fire_all(schedule).await {
                tracing::error!(schedule = %which.0, %refusal, "due schedule not fired");
                stuck.insert(which);
            }
        }
    }

    /// Fires a schedule until its next time is in the future. What the store could not take is tried at the next turn.
    async fn fire_all(&self, mut schedule: Schedule) -> Result<(), Refusal> {
        let cron = Cron::parse(&schedule.plan.cron, schedule.plan.timezone.as_str())?;
        loop {
            let Ok(now) = self.store.now().await.map(|now| now.at) else { return Ok(()) };
            let Some(due_at) = schedule.next_at.filter(|at| *at <= now) else { return Ok(()) };
            let come = cron.between(due_at, now, limits::MISFIRES_MAX);
            let (occurrence, last) = select_occurrence(schedule.plan.misfire, &come, now);
            let next_at = cron.next(last).ok_or_else(never)?;
            let occurrence = occurrence.map(|at| (at, self.job(&schedule, at, now)));
            let (id, last_job) = (schedule.id.clone(), schedule.last_job);
            let fire = Fire { schedule: id, due_at, last_job, next_at, occurrence };
            let by = Actor(format!("schedule:{}", schedule.id).into()).into();
            let envelope = CommandEnvelope { by, key: None, command: Command::Fire(Box::new(fire)) };
            match self.submit(envelope).await {
                Ok(Ok(CommandOutput::Automation { automation, .. })) => {
                    let Automation::Schedule(fired) = *automation else { return Ok(()) };
                    if let Some(error) = &fired.last_error {
                        tracing::warn!(schedule = %fired.id, %error, "schedule created no job");
                    }
                    schedule = fired;
                }
                // Removed, or the store is unavailable.
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }

    /// The admitted job of an occurrence.
    fn job(&self, schedule: &Schedule, at: Timestamp, now: Timestamp) -> Result<Box<Create>, Refusal> {
        let correlation_id = Some(format!("{}@{at}", schedule.id).into());
        let links = Links { correlation_id, ..Links::default() };
        let new = NewJob { links, ..new_job(&schedule.plan) };
        let id = self.ids.next(now, (self.options.random)());
        match admission::admit(&self.active(), &self.flow(), new, id, now)?.command {
            // The commit, not a key, ensures that it is created once.
            Command::Create(create) => {
                Ok(Box::new(Create { key: CreationKey::None, is_limited: false, ..*create }))
            }
            _ => unreachable!("what is admitted is a creation"),
        }
    }

    /// The first time of a new schedule. Its job must be admissible, except that a guard may reject it now.
    fn check(&self, plan: &Plan, now: Timestamp) -> Result<Timestamp, Refusal> {
        let next_at = next(plan, now)?;
        let id = self.ids.next(now, (self.options.random)());
        let active = self.active();
        if let Some(job_type) = active.catalog.job_type(plan.job.job_type.as_str()) {
            admission::check_size(&plan.job.payload, job_type)?;
        }
        match admission::admit(&active, &self.flow(), new_job(plan), id, now) {
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
    Refusal::invalid("#/cron", "has no next time")
}

/// The job of a plan.
pub fn new_job(plan: &Plan) -> NewJob {
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

/// Of the due times: the one to create a job for, if any, and the one after which the schedule continues.
fn select_occurrence(misfire: Misfire, come: &[Timestamp], now: Timestamp) -> (Option<Timestamp>, Timestamp) {
    let (first, last) = (come[0], come[come.len() - 1]);
    match misfire {
        Misfire::All => (Some(first), first),
        Misfire::Once => (Some(last), last),
        Misfire::Skip => (Some(last).filter(|at| now.0 - at.0 <= LATE_MS), last),
    }
}
