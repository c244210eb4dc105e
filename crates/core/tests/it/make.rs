//! Valid things in one call: a catalog, a creation, a verb; and a world with one job in it, to be driven by hand.

use std::sync::Arc;

use tenure_core::command::{
    Cancel, Claim, ClaimFilter, Command, CommandEnvelope, Create, CreationKey, Hold, Report, Retry, Verb,
    When,
};
use tenure_core::dead_letter::ReasonCode;
use tenure_core::decide::{CommandOutput, CommandResult};
use tenure_core::id::{Actor, Fence, JobId, Name};
use tenure_core::job::{CancelMode, Category, Class, Job, JobError, Links};
use tenure_core::job_type::{Catalog, JobType};
use tenure_core::json::Json;
use tenure_core::lifecycle::{Jitter, Lifecycle, Phase, Trigger};
use tenure_core::time::Millis;

use crate::world::{DAWN, World, sweep};

/// The example of the documentation: it has signals, which the built-in ones have not.
pub(crate) fn review() -> Lifecycle {
    Lifecycle::parse(include_str!("review.toml")).expect("the documented example passes its own check")
}

/// What none of the others has: states that cannot be cancelled, failures without an error, waits without an end.
pub(crate) fn odd() -> Lifecycle {
    Lifecycle::parse(include_str!("odd.toml")).expect("it is strange, and lawful")
}

/// The five built-in lifecycles, `review` and `odd`.
pub(crate) fn lifecycles() -> Vec<Lifecycle> {
    let mut all = Lifecycle::built_in();
    all.extend([review(), odd()]);
    all
}

/// All lifecycles, and no type.
pub(crate) fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    for lifecycle in lifecycles() {
        catalog.add_lifecycle(lifecycle);
    }
    catalog
}

/// A type without chance in its backoff.
pub(crate) fn a_type(name: &str, lifecycle: &Lifecycle) -> JobType {
    let mut made = JobType::following(name, lifecycle);
    made.policy.backoff.jitter = Jitter::None;
    made
}

/// The `n`-th job of a world.
pub(crate) fn job_id(n: u128) -> JobId {
    JobId::new(DAWN.0 as u64, n)
}

/// A creation that says no more than it must.
pub(crate) fn a_job(n: u128, job_type: &str) -> Create {
    Create {
        id: job_id(n),
        job_type: job_type.into(),
        lifecycle: None,
        payload: Json::null(),
        user_id: Some("u1".into()),
        queue: None,
        priority: None,
        max_attempts: None,
        when: When::Now,
        links: Links::default(),
        key: CreationKey::None,
        throttled: None,
    }
}

/// A command of somebody, without a key.
pub(crate) fn asked(by: &str, command: Command) -> CommandEnvelope {
    CommandEnvelope { by: Actor::from(by), key: None, command }
}

/// A claim of one job of any kind.
pub(crate) fn a_claim(worker: &str) -> Claim {
    Claim { worker: worker.into(), filter: ClaimFilter::default(), max: 1, request_id: None, start: false }
}

/// What a worker reports.
pub(crate) fn an_error(class: Class) -> JobError {
    JobError { class, ..JobError::own("BROKEN", "it broke", Category::Engine) }
}

/// The verb of a worker for a trigger, if it is one that workers say.
pub(crate) fn verb(trigger: &Trigger, class: Class) -> Option<Verb> {
    Some(match trigger {
        Trigger::Start => Verb::Start,
        Trigger::Succeed => Verb::Succeed { result: None, error: None },
        Trigger::Partial => Verb::Partial { result: None, error: None },
        Trigger::Fail => Verb::Fail { error: an_error(class), retry_after: None },
        Trigger::Reject => Verb::Reject { reason: "unfit".to_owned() },
        Trigger::Release => Verb::Release { checkpoint: None, delay: None },
        Trigger::Create
        | Trigger::Claim
        | Trigger::Cancel
        | Trigger::DeadLetter
        | Trigger::Timeout
        | Trigger::LeaseExpired
        | Trigger::Due
        | Trigger::Disconnected
        | Trigger::Signal(_) => return None,
    })
}

/// A world with one job, held by `w1` whenever it is held.
#[derive(Clone)]
pub(crate) struct OneJob {
    pub(crate) world: World,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) id: JobId,
}

impl OneJob {
    /// A new job of a type that says no more than how often it may fail.
    pub(crate) fn create(lifecycle: &Lifecycle, max_attempts: u32) -> Self {
        let mut catalog = catalog();
        let mut job_type = a_type("work", lifecycle);
        job_type.policy.max_attempts = max_attempts;
        // Shorter than any timeout, so that a lease can run out everywhere.
        (job_type.policy.lease, job_type.policy.heartbeat) = (Millis::seconds(6), Millis::seconds(4));
        catalog.add_type(job_type).expect("its lifecycle is there");
        let (id, lifecycle) = (job_id(1), Arc::new(lifecycle.clone()));
        let mut made = Self { world: World::new(catalog), lifecycle, id };
        made.ask(Command::Create(Box::new(a_job(1, "work")))).expect("nothing forbids it");
        made
    }

    pub(crate) fn job(&self) -> &Job {
        &self.world.tables.jobs[&self.id]
    }

    pub(crate) fn ask(&mut self, command: Command) -> CommandResult {
        self.world.ask(&asked("operator:ann", command))
    }

    /// Claims once the job may run, and says whether it was got.
    pub(crate) fn claim(&mut self) -> bool {
        if self.job().phase == Phase::Ready {
            self.world.now.at = self.world.now.at.max(self.job().run_at);
        }
        let answer = self.ask(Command::Claim(a_claim("w1"))).expect("a claim is lawful anywhere");
        matches!(answer, CommandOutput::Claimed { jobs, .. } if jobs.iter().any(|job| job.id() == self.id))
    }

    /// The live lease's worker and fence; or a fence that was never granted.
    pub(crate) fn hold(&self) -> Hold {
        let fence = self.job().lease.as_ref().map_or(Fence(99), |lease| lease.fence);
        Hold { job: self.id, worker: "w1".into(), fence }
    }

    /// A worker's verb, under the lease if there is one.
    pub(crate) fn say(&mut self, verb: Verb) -> CommandResult {
        let Hold { job, worker, fence } = self.hold();
        self.ask(Command::Report(Box::new(Report { job, holder: Some((worker, fence)), verb })))
    }

    /// A `reject` by whoever may: the holder, or an operator where nobody holds the job.
    pub(crate) fn reject(&mut self) -> CommandResult {
        let verb = Verb::Reject { reason: "unfit".to_owned() };
        if self.job().lease.is_some() {
            return self.say(verb);
        }
        self.ask(Command::Report(Box::new(Report { job: self.id, holder: None, verb })))
    }

    pub(crate) fn cancel(&mut self) -> CommandResult {
        self.ask(Command::Cancel(Cancel { job: self.id, mode: CancelMode::Hard, reason: None }))
    }

    pub(crate) fn dead_letter(&mut self) -> CommandResult {
        self.ask(Command::DeadLetter(self.id, ReasonCode::PolicyViolation, "no".to_owned()))
    }

    pub(crate) fn signal(&mut self, name: &Name) -> CommandResult {
        self.ask(Command::Signal(self.id, name.clone(), None))
    }

    pub(crate) fn disconnect(&mut self) -> CommandResult {
        self.ask(Command::Disconnect(self.hold()))
    }

    /// A new job like this one.
    pub(crate) fn retry(&mut self) -> CommandResult {
        self.ask(Command::Retry(Retry { job: self.id, id: job_id(2), when: When::Now }))
    }

    /// Lets time pass until the job's next clock runs out, and looks.
    pub(crate) fn let_clock_fire(&mut self) -> bool {
        let Some(deadline) = self.job().next_clock() else { return false };
        self.world.wait_until(deadline);
        self.world.ask(&sweep(self.id)).is_ok()
    }

    /// Keeps the lease alive until the state's timeout has come.
    pub(crate) fn let_time_out(&mut self) {
        let Some(timeout) = self.job().clocks.timeout else { return };
        while let Some(expires) =
            self.job().lease.as_ref().map(|lease| lease.expires()).filter(|at| *at <= timeout)
        {
            self.world.wait_until(expires);
            self.world.now.at.0 -= 1;
            let beat = Command::Heartbeat(self.hold());
            self.ask(beat).expect("the lease lives until it expires");
        }
        self.world.wait_until(timeout);
        self.world.ask(&sweep(self.id)).expect("the job is there");
    }

    /// Lets the lease run out, though a timeout might have come before.
    pub(crate) fn let_lease_expire(&mut self) {
        let Some(lease) = &self.job().lease else { return };
        self.world.wait_until(lease.expires());
        self.world.ask(&sweep(self.id)).expect("the job is there");
    }

    /// Lets a moment pass.
    pub(crate) fn breathe(&mut self) {
        self.world.wait(Millis(1));
    }
}
