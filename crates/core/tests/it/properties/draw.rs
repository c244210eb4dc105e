//! Random commands: a few numbers and the current world determine the next one. Half of them are valid; the others
//! come late, twice, from the wrong worker, or with an old fence.

use proptest::prelude::*;

use crate::make::{a_claim, a_job, a_type, an_error, catalog, envelope, job_id, lifecycles, verb};
use crate::prelude::*;
use crate::world::World;

/// A type for each lifecycle, named after it, with leases so short that they expire during a run.
pub(super) fn world() -> World {
    let mut catalog = catalog();
    for lifecycle in lifecycles() {
        let mut made = a_type(lifecycle.name.as_str(), &lifecycle);
        // In lifecycles with timeouts, leases last longer, except in `odd`.
        let outlasts = ["engine", "review"].contains(&lifecycle.name.as_str());
        let (lease, heartbeat) = if outlasts { (3600, 3600) } else { (10, 4) };
        (made.policy.lease, made.policy.heartbeat) = (Millis::seconds(lease), Millis::seconds(heartbeat));
        made.policy.cancel_grace = Millis::seconds(5);
        made.policy.backoff.jitter = Jitter::Full;
        made.policy.max_attempts = made.policy.max_attempts.min(3);
        made.cost = if lifecycle.credits.is_some() { 3 } else { 0 };
        made.compensate_with = match lifecycle.name.as_str() {
            "distributed" => Some("so1".into()),
            "odd" => Some("pattern".into()),
            _ => None,
        };
        made.unique = unique(lifecycle.name.as_str());
        catalog.add_type(made).expect("the type is valid");
    }
    let mut world = World::new(catalog);
    world
        .submit(&envelope("ann", Command::GrantCredits { user: "u1".into(), amount: 40, reason: None }))
        .expect("the grant is within limits");
    world
}

/// A different rule for each type; none for the others.
fn unique(job_type: &str) -> Option<Unique> {
    let (delay, max_delay) = (Millis::seconds(2), Some(Millis::seconds(10)));
    let (among, on_conflict) = match job_type {
        "pattern" => (Among::Unfinished, OnConflict::Return),
        "so1" => (Among::Waiting, OnConflict::Replace),
        "distributed" => (Among::Created(Millis::seconds(30)), OnConflict::Refuse),
        "odd" => (Among::Waiting, OnConflict::Postpone { delay, max_delay }),
        "engine" => (Among::Unfinished, OnConflict::Cancel),
        _ => return None,
    };
    Some(Unique { among, on_conflict })
}

/// Random numbers that determine a command.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    wait: Millis,
    outage: bool,
    what: u8,
    /// Selects the job, worker and variant.
    which: [u8; 5],
}

pub(super) fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let wait = prop_oneof![
        12 => Just(0),
        6 => 0..4000_u64,
        3 => 4000..20_000_u64,
        1 => 20_000..4_000_000_u64,
    ];
    let draw = (wait, 0..40_u8, 0..200_u8, any::<[u8; 5]>()).prop_map(|(wait, outage, what, which)| Draw {
        wait: Millis(wait),
        outage: outage == 0,
        what,
        which,
    });
    prop::collection::vec(draw, 1..80)
}

/// A command and its time.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) wait: Millis,
    pub(super) outage: bool,
    pub(super) envelope: CommandEnvelope,
}

impl Step {
    /// Advances the clock to the time of the command.
    pub(super) fn pass_time(&self, world: &mut World) {
        if self.outage {
            world.wait(self.wait);
            world.outage(Millis::seconds(100));
        } else {
            world.wait(self.wait);
        }
    }

    pub(super) fn takes_time(&self) -> bool {
        self.outage || self.wait > Millis(0)
    }

    pub(super) fn has_key(&self) -> bool {
        match &self.envelope.command {
            Command::Create(create) => create.key != CreationKey::None,
            Command::Claim(claim) => claim.request_id.is_some(),
            _ => self.envelope.key.is_some(),
        }
    }
}

pub(super) fn presents_a_lease(command: &Command) -> bool {
    match command {
        Command::Heartbeat(_) | Command::Progress { .. } | Command::Disconnect(_) => true,
        Command::Report(report) => report.holder.is_some(),
        Command::Log(log) => log.holder.is_some(),
        _ => false,
    }
}

impl Draw {
    /// The command that these numbers select in a world, after advancing its clock.
    pub(super) fn step(&self, world: &mut World, n: u128) -> Step {
        let pass = Step { wait: self.wait, outage: self.outage, envelope: envelope("clock", Command::Prune) };
        pass.pass_time(world);
        let mut known: Vec<&Job> = world.tables.jobs.values().map(AsRef::as_ref).collect();
        if !self.which[0].is_multiple_of(4) && known.iter().any(|job| !job.phase.is_final()) {
            known.retain(|job| !job.phase.is_final());
        }
        let command = match known.get(usize::from(self.which[0]) % known.len().max(1)) {
            Some(job) if self.what >= 100 && n > 3 => {
                self.valid(world, job).unwrap_or_else(|| self.about(world, job, n))
            }
            Some(job) if self.what >= 15 && n > 3 => self.about(world, job, n),
            _ => self.creation(world, n),
        };
        // Few keys and bodies, so that they repeat.
        let keyed = self.which[4].is_multiple_of(4)
            && !matches!(command, Command::Sweep(_) | Command::Prune | Command::Purge(_));
        // A fingerprint is the digest of the body, and a body that presents a lease differs from one that does not.
        let body = self.which[4] % 8 / 4 + 2 * u8::from(presents_a_lease(&command));
        let key = keyed.then(|| IdempotencyKey { key: self.key(), fingerprint: [body; 32] });
        let by = if self.what.is_multiple_of(2) { "ann" } else { "user:u1" };
        Step { envelope: CommandEnvelope { key, ..envelope(by, command) }, ..pass }
    }

    fn key(&self) -> Name {
        format!("k{}", self.which[3] % 3).into()
    }

    fn worker(&self) -> WorkerId {
        format!("w{}", self.which[1] % 3).into()
    }

    fn creation(&self, world: &World, n: u128) -> Command {
        // A lifecycle with more rules gets more jobs.
        let all = world.catalog.lifecycles();
        let rules: Vec<&LifecycleName> = all.flat_map(|each| each.rules.iter().map(|_| &each.name)).collect();
        let mut create = a_job(n, rules[usize::from(self.which[1]) % rules.len()].as_str());
        create.id = job_id(n);
        create.key = match self.which[2] % 4 {
            0 => CreationKey::Given(IdempotencyKey { key: self.key(), fingerprint: [self.which[3] % 2; 32] }),
            1 => CreationKey::Derived {
                digest: [self.which[3] % 2; 32],
                by_minute: self.which[4].is_multiple_of(2),
                about_minute: world.now.at.minute(),
            },
            _ => CreationKey::None,
        };
        create.when = if self.which[4].is_multiple_of(5) { When::In(Millis::seconds(3)) } else { When::Now };
        create.priority = Some(i32::from(self.which[4] % 3));
        create.payload = self.payload();
        create.flow = self.flow();
        Command::Create(Box::new(create))
    }

    fn payload(&self) -> Json {
        Json::of(&(self.which[3] % 4))
    }

    /// One job in three has one of two unique keys.
    fn flow(&self) -> FlowKeys {
        let key = ["a", "b"][usize::from(self.which[3] % 2)];
        FlowKeys {
            unique: Some(key.into()).filter(|_| self.which[0].is_multiple_of(3)),
            ..FlowKeys::default()
        }
    }

    fn amendment(&self, world: &World, job: &Job) -> Amend {
        let run_at = world.now.at + Millis::seconds(u64::from(self.which[2] % 8));
        Amend {
            job: job.id(),
            job_type: job.spec.job_type.clone(),
            payload: Some(self.payload()).filter(|_| self.which[1].is_multiple_of(2)),
            priority: Some(i32::from(self.which[4] % 3)).filter(|_| self.which[2].is_multiple_of(2)),
            run_at: Some(run_at).filter(|_| self.which[2].is_multiple_of(3)),
            flow: Some(self.flow()).filter(|_| self.which[1].is_multiple_of(2)),
            if_seq: Some(u32::from(self.which[3] % 4)).filter(|_| self.which[4].is_multiple_of(7)),
        }
    }

    /// A command that follows a rule from the job's state.
    fn valid(&self, world: &World, job: &Job) -> Option<Command> {
        let lifecycle = world.catalog.lifecycle(&job.spec.lifecycle)?;
        let by_command =
            |on: &Trigger| !matches!(on, Trigger::LeaseExpired | Trigger::Timeout | Trigger::Due);
        let allowed: Vec<Trigger> =
            lifecycle.allowed(job.state.as_str()).into_iter().filter(by_command).collect();
        let on = allowed.get(usize::from(self.which[3]) % allowed.len().max(1))?;
        let holder =
            job.lease.as_ref().map(|lease| Holder { worker: lease.worker.clone(), fence: lease.fence });
        let class = if self.which[2].is_multiple_of(3) { Class::Permanent } else { Class::Transient };
        Some(match on {
            Trigger::Claim => Command::Claim(a_claim(self.worker().as_str())),
            Trigger::Signal(name) => Command::Signal { job: job.id(), name: name.clone(), payload: None },
            Trigger::Disconnected => {
                let Holder { worker, fence } = holder?;
                Command::Disconnect(Hold { job: job.id(), worker, fence })
            }
            on => Command::Report(Box::new(Report { job: job.id(), holder, verb: verb(on, class)? })),
        })
    }

    fn about(&self, world: &World, job: &Job, n: u128) -> Command {
        let (id, hold) = (job.id(), self.hold(job));
        match self.what {
            15..29 => Command::Claim(self.claim()),
            29..32 => Command::Amend(Box::new(self.amendment(world, job))),
            32..62 => Command::Report(Box::new(self.report(job))),
            62..68 => Command::Heartbeat(hold),
            68..72 => Command::Progress { hold, percent: f64::from(self.which[3]), message: None },
            72..74 => {
                let line =
                    NewLogLine { stream: "stdout".into(), level: "info".into(), text: "hello".to_owned() };
                let lines = vec![line; usize::from(self.which[3] % 3)];
                let holder = Some(hold.holder()).filter(|_| self.which[4].is_multiple_of(2));
                Command::Log(AppendLog { job: id, holder, lines })
            }
            74..81 => {
                let mode = if self.which[2].is_multiple_of(3) { CancelMode::Hard } else { CancelMode::Soft };
                Command::Cancel(Cancel { job: id, mode, reason: None })
            }
            81..84 => {
                Command::DeadLetter { job: id, reason: ReasonCode::PolicyViolation, detail: "no".to_owned() }
            }
            84..90 => {
                let names = ["approve", "decline", "polish", "park", "wake", "refuse"];
                Command::Signal {
                    job: id,
                    name: names[usize::from(self.which[2]) % names.len()].into(),
                    payload: None,
                }
            }
            90..92 => Command::Retry(Retry { job: id, id: job_id(n), when: When::Now }),
            92..94 => Command::Disconnect(hold),
            94 => Command::DismissDeadLetter { job: id, reason: "seen".to_owned() },
            95 => Command::PauseQueue { queue: "default".into(), paused: self.which[2].is_multiple_of(4) },
            96 => Command::GrantCredits {
                user: "u1".into(),
                amount: u64::from(self.which[2] % 5),
                reason: None,
            },
            97 => Command::Purge(id),
            98 => Command::Prune,
            _ => Command::Sweep(id),
        }
    }

    /// The live lease, an old fence, or one that was never granted.
    fn hold(&self, job: &Job) -> Hold {
        let live = job.lease.as_ref().filter(|_| self.which[2] % 8 < 6);
        let (worker, fence) = match live {
            Some(lease) => (lease.worker.clone(), lease.fence),
            None => (self.worker(), Fence(u64::from(self.which[3]) % (job.fence.0 + 2))),
        };
        Hold { job: job.id(), worker, fence }
    }

    fn claim(&self) -> Claim {
        let all = ClaimFilter::default();
        let some = ClaimFilter { types: Some(vec!["odd".into(), "image".into()]), queues: None };
        Claim {
            worker: self.worker(),
            filter: if self.which[2].is_multiple_of(4) { some } else { all },
            max: u32::from(self.which[3] % 4),
            request_id: Some(self.key()).filter(|_| self.which[4].is_multiple_of(6)),
            start: self.which[2].is_multiple_of(2),
        }
    }

    fn report(&self, job: &Job) -> Report {
        let hold = self.hold(job);
        let class = [Class::Transient, Class::Transient, Class::Permanent, Class::Validation];
        let stage = [None, Some(Stage::Input), Some(Stage::Fetch), Some(Stage::Exec)];
        let error = JobError {
            stage: stage[usize::from(self.which[3] % 4)],
            ..an_error(class[usize::from(self.which[1] % 4)])
        };
        let verb = match self.which[4] / 4 % 11 {
            0..3 => Verb::Start,
            3 | 4 => Verb::Succeed { result: None, error: None },
            5 => Verb::Partial { result: None, error: Some(error) },
            6 | 7 => Verb::Fail { error, retry_after: None, pause: None },
            8 => Verb::Release { checkpoint: None, delay: None, pause: None },
            9 => Verb::CancelConfirm { checkpoint: None, result: None },
            _ => Verb::Reject { reason: "unfit".to_owned() },
        };
        let by_operator = matches!(verb, Verb::Reject { .. }) && self.which[3].is_multiple_of(2);
        Report { job: job.id(), holder: Some(hold.holder()).filter(|_| !by_operator), verb }
    }
}
