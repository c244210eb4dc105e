//! A worker: claims, starts, beats, reports. In a storm it also sleeps past its lease and wakes up, forgets what it held,
//! repeats itself, and speaks with fences that are not its own.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tenure_core::command::{AppendLog, Claim, ClaimFilter, Command, Hold, Report, Verb};
use tenure_core::decide::Done;
use tenure_core::id::{Actor, Fence, Name};
use tenure_core::job::{CancelMode, Category, Class, Job, JobError, Stage};
use tenure_core::json::Json;
use tenure_core::lifecycle::Phase;
use tenure_core::refusal::Refusal;
use tenure_core::time::Millis;
use tokio::time::sleep;

use crate::cast::Kind;
use crate::chance::Chance;
use crate::network::{Reply, Request};
use crate::workload::{ask, key};
use crate::world::World;

struct Worker {
    world: Rc<World>,
    chance: Chance,
    name: Name,
    count: u64,
}

/// A job in a worker's hands.
struct Task {
    hold: Hold,
    kind: std::sync::Arc<Kind>,
    phase: Phase,
    /// Whether the worker was told to stop.
    cancel: bool,
}

/// A worker's life.
pub(super) async fn live(world: Rc<World>, chance: Chance, name: Name) {
    let mut worker = Worker { world, chance, name, count: 0 };
    loop {
        let pause = worker.chance.between(10, 900);
        sleep(Duration::from_millis(pause)).await;
        for job in worker.claim().await {
            worker.work(&job).await;
        }
    }
}

impl Worker {
    fn in_storm(&mut self, times: u64) -> bool {
        let storm = !self.world.is_healed();
        self.chance.percent(times) && storm
    }

    async fn claim(&mut self) -> Vec<std::sync::Arc<Job>> {
        self.count += 1;
        let narrow = self.in_storm(25);
        let request_id = format!("{}-{}", self.name, self.count);
        let some = ["fleet", "saga", "undo", "picture", "parcel"].map(Name::from).to_vec();
        let claim = Claim {
            worker: self.name.clone(),
            filter: ClaimFilter { types: narrow.then_some(some), queues: None },
            max: if self.world.is_healed() { 1 } else { self.chance.pick(&[1, 1, 1, 2, 3]) },
            request_id: self.chance.percent(60).then(|| request_id.as_str().into()),
            start: self.chance.percent(30),
        };
        let wait = Duration::from_millis(self.chance.pick(&[0, 0, 500, 3000]));
        for _ in 0..3 {
            match self.world.ask(&mut self.chance, Request::Claim(claim.clone(), wait)).await {
                Some(Ok(Ok(Done::Claimed { jobs, .. }))) => return jobs,
                Some(_) => return Vec::new(),
                None if claim.request_id.is_none() => return Vec::new(),
                None => {}
            }
        }
        Vec::new()
    }

    async fn work(&mut self, job: &Job) {
        let Some(kind) = Kind::of(&job.spec) else { return };
        let hold = Hold { job: job.id(), worker: self.name.clone(), fence: job.fence };
        let mut task = Task { hold, kind, phase: job.phase, cancel: false };
        if task.phase == Phase::Held && !self.chance.percent(5) {
            let started = self.report(&task, Verb::Start).await;
            if is_conflict(&started) && !self.in_storm(20) {
                return;
            }
            task.phase = Phase::Active;
        }
        let steps = self.chance.between(0, 4);
        for _ in 0..steps {
            let climate = self.world.climate.clone();
            let beat_ms = task.kind.policy.heartbeat.0;
            let nap = self.chance.between(100, beat_ms);
            sleep(Duration::from_millis(nap)).await;
            if self.in_storm(climate.pauses) {
                self.oversleep(&task).await;
            }
            if self.in_storm(climate.worker_crashes) {
                self.world.story.tell(Some(task.hold.job), format!("{} dies", self.name));
                return;
            }
            if self.in_storm(climate.impostors / 4) {
                self.speak_out_of_turn(&task).await;
            }
            if !self.sign_of_life(&mut task).await {
                return;
            }
        }
        self.finish(&task).await;
        if self.in_storm(self.world.climate.impostors) {
            let pause = self.chance.between(0, 12_000);
            sleep(Duration::from_millis(pause)).await;
            self.speak_out_of_turn(&task).await;
        }
    }

    /// Sleeps past its lease, and wakes up as though nothing had happened.
    async fn oversleep(&mut self, task: &Task) {
        let lease_ms = task.kind.policy.lease.0;
        let span = self.chance.between(lease_ms / 2, lease_ms * 2);
        self.world.story.tell(Some(task.hold.job), format!("{} sleeps for {span} ms", self.name));
        sleep(Duration::from_millis(span)).await;
    }

    /// Says something that keeps the lease; whether to go on.
    async fn sign_of_life(&mut self, task: &mut Task) -> bool {
        let hold = task.hold.clone();
        let command = match self.chance.between(0, 9) {
            0..=5 => Command::Heartbeat(hold),
            6..=7 => Command::Progress(hold, self.chance.between(0, 100) as f64, None),
            _ => {
                let line = ("stdout".into(), "info".into(), "a line".to_owned());
                Command::Log(AppendLog {
                    job: hold.job,
                    holder: Some((hold.worker, hold.fence)),
                    lines: vec![line],
                })
            }
        };
        let by = Actor::worker(&self.name);
        let reply = self.world.ask(&mut self.chance, ask(&by.to_string(), None, command)).await;
        if let Some(Ok(Ok(Done::Beat { cancel, .. }))) = &reply {
            task.cancel = matches!(cancel, Some(CancelMode::Soft | CancelMode::Hard));
        }
        if is_conflict(&reply) {
            return self.in_storm(20);
        }
        if task.cancel && self.chance.percent(60) {
            let checkpoint = Some(Json::of(&"here"));
            self.report(task, Verb::CancelConfirm { checkpoint, result: None }).await;
            return false;
        }
        true
    }

    async fn finish(&mut self, task: &Task) {
        let verb = self.last_word();
        self.report(task, verb).await;
    }

    fn last_word(&mut self) -> Verb {
        let result = Some(Json::of(&json!({ "answer": self.chance.between(1, 9) })));
        match self.chance.between(0, 99) {
            0..=54 => Verb::Succeed { result, error: None },
            55..=74 => {
                let retry_after = self.chance.percent(20).then(|| Millis(self.chance.between(0, 3000)));
                Verb::Fail { error: error(Class::Transient), retry_after }
            }
            75..=82 => Verb::Fail { error: error(Class::Permanent), retry_after: None },
            83..=89 => Verb::Release { checkpoint: result, delay: None },
            90..=94 => Verb::Partial { result, error: None },
            _ => Verb::Reject { reason: "not fit to be seen".to_owned() },
        }
    }

    /// Reports until there is an answer, and sometimes once more.
    async fn report(&mut self, task: &Task, verb: Verb) -> Reply {
        self.count += 1;
        let Hold { job, worker, fence } = task.hold.clone();
        let given = key(&format!("{worker}-{}", self.count), "report");
        let given = self.chance.percent(30).then_some(given);
        let report = Report { job, holder: Some((worker, fence)), verb };
        let by = Actor::worker(&self.name).to_string();
        let request = ask(&by, given, Command::Report(Box::new(report)));
        let mut reply = None;
        for _ in 0..5 {
            reply = self.world.ask(&mut self.chance, request.clone()).await;
            let answered = matches!(reply, Some(Ok(_)));
            if answered && !self.in_storm(8) {
                return reply;
            }
            let again = self.chance.between(50, 1500);
            sleep(Duration::from_millis(again)).await;
        }
        reply
    }

    /// Says something that it may have no right to say (any more), or lets a stranger say it.
    async fn speak_out_of_turn(&mut self, task: &Task) {
        let mut hold = task.hold.clone();
        match self.chance.between(0, 7) {
            0..=2 => {}
            3 => hold.fence = Fence(hold.fence.0 + self.chance.between(1, 2)),
            4 => hold.fence = Fence(hold.fence.0 - 1),
            _ => hold.worker = "stranger".into(),
        }
        let by = Actor::worker(&hold.worker).to_string();
        let command = match self.chance.between(0, 4) {
            0 => Command::Heartbeat(hold),
            1 => Command::Progress(hold, 50.0, None),
            2 => Command::Disconnect(hold),
            _ => {
                let verb = if self.chance.percent(20) { Verb::Start } else { self.last_word() };
                Command::Report(Box::new(Report {
                    job: hold.job,
                    holder: Some((hold.worker, hold.fence)),
                    verb,
                }))
            }
        };
        self.world.ask(&mut self.chance, ask(&by, None, command)).await;
    }
}

fn is_conflict(reply: &Reply) -> bool {
    matches!(reply, Some(Ok(Err(Refusal::LeaseConflict { .. }))))
}

fn error(class: Class) -> JobError {
    let stage = Some(Stage::Exec);
    JobError { class, stage, ..JobError::own("BROKEN", "it broke", Category::Engine) }
}
