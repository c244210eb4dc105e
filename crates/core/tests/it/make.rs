//! Builders of valid values: a catalog, a creation, a report; and a world with one job.

use std::sync::Arc;

use tenure_core::job::Links;

use crate::prelude::*;
use crate::world::{START, World, sweep};

/// The example of the documentation: it has signals, which the built-in ones do not have.
pub(crate) fn review() -> Lifecycle {
    Lifecycle::parse(include_str!("review.toml")).expect("the example is valid")
}

/// Unusual but valid: states that cannot be cancelled, failures without an error, waits without an end.
pub(crate) fn odd() -> Lifecycle {
    Lifecycle::parse(include_str!("odd.toml")).expect("it is valid")
}

/// It begins in a waiting state, and only operators approve.
pub(crate) fn payout() -> Lifecycle {
    Lifecycle::parse(include_str!("payout.toml")).expect("it is valid")
}

/// The five built-in lifecycles, `review`, `odd` and `payout`.
pub(crate) fn lifecycles() -> Vec<Lifecycle> {
    let mut all = Lifecycle::built_in();
    all.extend([review(), odd(), payout()]);
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

/// A type without jitter in its backoff.
pub(crate) fn a_type(name: &str, lifecycle: &Lifecycle) -> JobType {
    let mut made = JobType::following(name, lifecycle);
    made.policy.backoff.jitter = Jitter::None;
    made
}

/// The `n`-th job of a world.
pub(crate) fn job_id(n: u128) -> JobId {
    JobId::new(START.0 as u64, n)
}

/// A creation with defaults for everything optional.
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
        flow: FlowKeys::default(),
        is_limited: true,
        reader: Reader::default(),
        throttled: None,
    }
}

/// A command without an idempotency key.
pub(crate) fn envelope(by: &str, command: Command) -> CommandEnvelope {
    CommandEnvelope { by: by.into(), key: None, command }
}

/// A claim of one job of any type.
pub(crate) fn a_claim(worker: &str) -> Claim {
    Claim { worker: worker.into(), filter: ClaimFilter::default(), max: 1, request_id: None, start: false }
}

pub(crate) fn an_error(class: Class) -> JobError {
    JobError { class, ..JobError::own("BROKEN", "it broke", Category::Engine) }
}

/// The report that causes a trigger, if workers can report it.
pub(crate) fn verb(trigger: &Trigger, class: Class) -> Option<Verb> {
    Some(match trigger {
        Trigger::Start => Verb::Start,
        Trigger::Succeed => Verb::Succeed { result: None, error: None },
        Trigger::Partial => Verb::Partial { result: None, error: None },
        Trigger::Fail => Verb::Fail { error: an_error(class), retry_after: None, pause: None },
        Trigger::Reject => Verb::Reject { reason: "unfit".to_owned() },
        Trigger::Release => Verb::Release { checkpoint: None, delay: None, pause: None },
        Trigger::Create
        | Trigger::Claim
        | Trigger::Cancel
        | Trigger::DeadLetter
        | Trigger::Timeout
        | Trigger::LeaseExpired
        | Trigger::Due
        | Trigger::Disconnected
        | Trigger::Amend
        | Trigger::Signal(_) => return None,
    })
}

/// A world with one job. If it is leased, then by `w1`.
#[derive(Clone)]
pub(crate) struct OneJob {
    pub(crate) world: World,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) id: JobId,
}

impl OneJob {
    /// A new job of a type with default settings and short leases.
    pub(crate) fn create(lifecycle: &Lifecycle, max_attempts: u32) -> Self {
        let mut catalog = catalog();
        catalog.add_lifecycle(lifecycle.clone());
        let mut job_type = a_type("work", lifecycle);
        job_type.policy.max_attempts = max_attempts;
        // Shorter than any timeout, so that a lease can expire in every state.
        (job_type.policy.lease, job_type.policy.heartbeat) = (Millis::seconds(6), Millis::seconds(4));
        catalog.add_type(job_type).expect("its lifecycle is known");
        let (id, lifecycle) = (job_id(1), Arc::new(lifecycle.clone()));
        let mut made = Self { world: World::new(catalog), lifecycle, id };
        made.submit(Command::Create(Box::new(a_job(1, "work")))).expect("the creation is valid");
        made
    }

    pub(crate) fn job(&self) -> &Job {
        &self.world.tables.jobs[&self.id]
    }

    pub(crate) fn submit(&mut self, command: Command) -> CommandResult {
        self.world.submit(&envelope("operator:ann", command))
    }

    /// Claims once the job may run, and returns whether it was claimed.
    pub(crate) fn claim(&mut self) -> bool {
        if self.job().phase == Phase::Ready {
            self.world.now.at = self.world.now.at.max(self.job().run_at);
        }
        let answer = self.submit(Command::Claim(a_claim("w1"))).expect("a claim is never refused");
        matches!(answer, CommandOutput::Claimed { jobs, .. } if jobs.iter().any(|job| job.id() == self.id))
    }

    /// The worker and fence of the live lease, or a fence that was never granted.
    pub(crate) fn hold(&self) -> Hold {
        let fence = self.job().lease.as_ref().map_or(Fence(99), |lease| lease.fence);
        Hold { job: self.id, worker: "w1".into(), fence }
    }

    /// The command that causes a trigger; `None` for claims and clocks. An operator rejects a job without a lease.
    pub(crate) fn command(&self, trigger: &Trigger, class: Class) -> Option<Command> {
        let (job, hold) = (self.id, self.hold());
        Some(match trigger {
            Trigger::Create => Command::Retry(Retry { job, id: job_id(2), when: When::Now }),
            Trigger::Cancel => Command::Cancel(Cancel { job, mode: CancelMode::Hard, reason: None }),
            Trigger::DeadLetter => {
                Command::DeadLetter { job, reason: ReasonCode::PolicyViolation, detail: "no".to_owned() }
            }
            Trigger::Signal(name) => Command::Signal { job, name: name.clone(), payload: None },
            Trigger::Disconnected => Command::Disconnect(hold),
            trigger => {
                let by_operator = *trigger == Trigger::Reject && self.job().lease.is_none();
                let holder = Some(hold.holder()).filter(|_| !by_operator);
                Command::Report(Box::new(Report { job, holder, verb: verb(trigger, class)? }))
            }
        })
    }

    fn sweep_at(&mut self, deadline: Deadline) {
        self.world.wait_until(deadline);
        self.world.submit(&sweep(self.id)).expect("the job exists");
    }

    /// Advances to the next deadline of a job with a due time, and sweeps.
    pub(crate) fn become_due(&mut self) {
        if let Some(deadline) = self.job().next_clock().filter(|_| self.job().clocks.due.is_some()) {
            self.sweep_at(deadline);
        }
    }

    /// Keeps the lease alive until the state's timeout, and sweeps.
    pub(crate) fn time_out(&mut self) {
        let Some(timeout) = self.job().clocks.timeout else { return };
        while let Some(expires) =
            self.job().lease.as_ref().map(|lease| lease.expires()).filter(|at| *at <= timeout)
        {
            self.world.wait_until(expires);
            self.world.now.at.0 -= 1;
            let heartbeat = Command::Heartbeat(self.hold());
            self.submit(heartbeat).expect("the lease has not expired");
        }
        self.sweep_at(timeout);
    }

    /// Advances until the lease expires, and sweeps; a timeout may come before.
    pub(crate) fn expire_lease(&mut self) {
        let expires = self.job().lease.as_ref().map(|lease| lease.expires());
        if let Some(expires) = expires {
            self.sweep_at(expires);
        }
    }

    /// Advances the clock by a millisecond.
    pub(crate) fn advance(&mut self) {
        self.world.wait(Millis(1));
    }
}
