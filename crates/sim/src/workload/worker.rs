//! A worker: claims, starts, sends heartbeats, reports. While there are faults it also pauses past its lease, forgets its
//! jobs, repeats commands, and uses the fences of others.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tenure_core::asset::{AssetId, NewAsset, Upload};
use tenure_core::command::{AppendLog, NewLogLine, PauseRequest};
use tenure_core::job::Stage;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::fixtures::TypeModel;
use crate::fixtures::flow::TypeRules;
use crate::network::{Reply, Request};
use crate::prelude::*;
use crate::rng::Rng;
use crate::workload::{key, submit};

struct Worker {
    cluster: Rc<Cluster>,
    rng: Rng,
    id: WorkerId,
    count: u64,
}

struct Task {
    hold: Hold,
    kind: std::sync::Arc<TypeModel>,
    phase: Phase,
    cancel_requested: bool,
}

pub(super) async fn run(cluster: Rc<Cluster>, rng: Rng, id: WorkerId) {
    let mut worker = Worker { cluster, rng, id, count: 0 };
    loop {
        let pause = worker.rng.between(10, 900);
        sleep(Duration::from_millis(pause)).await;
        for job in worker.claim().await {
            worker.work(&job).await;
        }
    }
}

impl Worker {
    /// True with this probability while there are faults.
    fn with_faults(&mut self, probability: u64) -> bool {
        let has_faults = !self.cluster.faults_ended();
        self.rng.percent(probability) && has_faults
    }

    async fn claim(&mut self) -> Vec<std::sync::Arc<Job>> {
        self.count += 1;
        let narrow = self.with_faults(25);
        let controlled = self.rng.percent(50);
        let request_id = format!("{}-{}", self.id, self.count);
        let some = if controlled {
            self.cluster.plan.controlled.iter().map(|rules| rules.name.into()).collect()
        } else {
            ["fleet", "saga", "undo", "picture", "parcel"].map(Into::into).to_vec()
        };
        let claim = Claim {
            worker: self.id.clone(),
            filter: ClaimFilter { types: narrow.then_some(some), queues: None },
            max: if self.cluster.faults_ended() { 1 } else { self.rng.pick(&[1, 1, 1, 2, 3]) },
            request_id: self.rng.percent(60).then(|| request_id.as_str().into()),
            start: self.rng.percent(30),
        };
        let wait = Duration::from_millis(self.rng.pick(&[0, 0, 500, 3000]));
        for _ in 0..3 {
            match self.cluster.send(&mut self.rng, Request::Claim(claim.clone(), wait)).await {
                Some(Ok(Ok(CommandOutput::Claimed { jobs, .. }))) => return jobs,
                Some(_) => return Vec::new(),
                None if claim.request_id.is_none() => return Vec::new(),
                None => {}
            }
        }
        Vec::new()
    }

    async fn work(&mut self, job: &Job) {
        let Some(kind) = TypeModel::of(&job.spec) else { return };
        let hold = Hold { job: job.id(), worker: self.id.clone(), fence: job.fence };
        let mut task = Task { hold, kind, phase: job.phase, cancel_requested: false };
        if task.phase == Phase::Held && !self.rng.percent(5) {
            let started = self.report(&task, Verb::Start).await;
            if is_conflict(&started) && !self.with_faults(20) {
                return;
            }
            task.phase = Phase::Active;
        }
        let steps = self.rng.between(0, 4);
        for _ in 0..steps {
            let plan = self.cluster.plan.clone();
            let heartbeat_ms = task.kind.policy.heartbeat.0;
            let pause = self.rng.between(100, heartbeat_ms);
            sleep(Duration::from_millis(pause)).await;
            if self.with_faults(plan.worker_pauses) {
                self.pause_past_lease(&task).await;
            }
            if self.with_faults(plan.worker_crashes) {
                self.cluster.trace.record(Some(task.hold.job), format!("{} crashes", self.id));
                return;
            }
            if self.with_faults(plan.unauthorized_commands / 4) {
                self.send_unauthorized(&task).await;
            }
            let is_kept = if self.rng.percent(10) {
                self.upload(&task).await
            } else {
                self.keep_lease(&mut task).await
            };
            if !is_kept {
                return;
            }
        }
        let verb = self.random_report();
        let verb = self.with_pause(&task, verb);
        self.report(&task, verb).await;
        if self.with_faults(self.cluster.plan.unauthorized_commands) {
            let pause = self.rng.between(0, 12_000);
            sleep(Duration::from_millis(pause)).await;
            self.send_unauthorized(&task).await;
        }
    }

    async fn pause_past_lease(&mut self, task: &Task) {
        let lease_ms = task.kind.policy.lease.0;
        let span = self.rng.between(lease_ms / 2, lease_ms * 2);
        self.cluster.trace.record(Some(task.hold.job), format!("{} pauses for {span} ms", self.id));
        sleep(Duration::from_millis(span)).await;
    }

    /// Sends a command that renews the lease; returns whether to continue.
    async fn keep_lease(&mut self, task: &mut Task) -> bool {
        let hold = task.hold.clone();
        let command = match self.rng.between(0, 9) {
            0..=5 => Command::Heartbeat(hold),
            6..=7 => Command::Progress { hold, percent: self.rng.between(0, 100) as f64, message: None },
            _ => {
                let (stream, level, text) = ("stdout".into(), "info".into(), "a line".to_owned());
                let lines = vec![NewLogLine { stream, level, text }];
                Command::Log(AppendLog { job: hold.job, holder: Some(holder(hold)), lines })
            }
        };
        let by = Actor::worker(&self.id);
        let reply = self.cluster.send(&mut self.rng, submit(&by.to_string(), None, command)).await;
        if let Some(Ok(Ok(CommandOutput::Heartbeat { cancel, .. }))) = &reply {
            task.cancel_requested = matches!(cancel, Some(CancelMode::Soft | CancelMode::Hard));
        }
        if is_conflict(&reply) {
            return self.with_faults(20);
        }
        if task.cancel_requested && self.rng.percent(60) {
            let checkpoint = Some(Json::of(&"here"));
            self.report(task, Verb::CancelConfirm { checkpoint, result: None }).await;
            return false;
        }
        true
    }

    /// Uploads an object and adds the asset; returns whether to continue. A node does both parts for one request, which
    /// neither the network nor the worker repeats.
    async fn upload(&mut self, task: &Task) -> bool {
        self.count += 1;
        let (job, holder) = (task.hold.job, Some(holder(task.hold.clone())));
        let storage_path = format!("{job}/{}-{}", self.id, self.count);
        let upload =
            Upload { job, holder: holder.clone(), storage_path: storage_path.clone(), continues: false };
        let by = Actor::worker(&self.id).to_string();
        let request = submit(&by, None, Command::Upload(upload));
        let reply = self.cluster.deliver(&mut self.rng, request, "").await;
        if !matches!(reply, Some(Ok(Ok(_)))) {
            return !is_conflict(&reply);
        }
        self.cluster.objects.borrow_mut().insert(storage_path.clone());
        self.cluster.audit(|auditor| auditor.object_written(&storage_path, job));
        let pause = self.rng.between(10, 1500);
        sleep(Duration::from_millis(pause)).await;
        if self.with_faults(15) {
            self.cluster.trace.record(Some(job), format!("{} ends the upload of {storage_path}", self.id));
            return true;
        }
        let asset = self.asset(task, Some(storage_path));
        let request = submit(&by, None, Command::AddAsset(Box::new(asset)));
        let reply = self.cluster.deliver(&mut self.rng, request, "").await;
        !is_conflict(&reply)
    }

    /// An asset with an object, or one elsewhere.
    fn asset(&mut self, task: &Task, storage_path: Option<String>) -> NewAsset {
        let chance = (u128::from(self.rng.next()) << 64) | u128::from(self.rng.next());
        NewAsset {
            id: AssetId(JobId::new(self.cluster.now().0 as u64, chance).0),
            job: task.hold.job,
            holder: Some(holder(task.hold.clone())),
            asset_type: "picture".into(),
            url: "https://assets.example/picture".to_owned(),
            stored: storage_path.is_some(),
            storage_path,
            file_size: Some(3),
        }
    }

    fn random_report(&mut self) -> Verb {
        let result = Some(Json::of(&json!({ "answer": self.rng.between(1, 9) })));
        match self.rng.between(0, 99) {
            0..=54 => Verb::Succeed { result, error: None },
            55..=74 => {
                let retry_after = self.rng.percent(20).then(|| Millis(self.rng.between(0, 3000)));
                Verb::Fail { error: error(Class::Transient), retry_after, pause: None }
            }
            75..=82 => Verb::Fail { error: error(Class::Permanent), retry_after: None, pause: None },
            83..=89 => Verb::Release { checkpoint: result, delay: None, pause: None },
            90..=94 => Verb::Partial { result, error: None },
            _ => Verb::Reject { reason: "violates the rules".to_owned() },
        }
    }

    /// A worker whose upstream service is overloaded asks for a pause of the resource; sometimes of one that its job does not use.
    fn with_pause(&mut self, task: &Task, mut verb: Verb) -> Verb {
        let uses = TypeRules::of(&task.kind.definition.name).map_or(&[][..], |rules| rules.uses);
        let (Verb::Fail { pause, .. } | Verb::Release { pause, .. }) = &mut verb else { return verb };
        if !uses.is_empty() && self.rng.percent(25) {
            let name = if self.rng.percent(4) { "unknown" } else { self.rng.pick(uses).0 };
            *pause = Some(PauseRequest { resource: name.into(), span: Millis(self.rng.between(300, 5000)) });
        }
        verb
    }

    /// Reports until there is a reply, and sometimes once more.
    async fn report(&mut self, task: &Task, verb: Verb) -> Reply {
        self.count += 1;
        let hold = task.hold.clone();
        let given = key(&format!("{}-{}", hold.worker, self.count), "report");
        let given = self.rng.percent(30).then_some(given);
        let report = Report { job: hold.job, holder: Some(holder(hold)), verb };
        let by = Actor::worker(&self.id).to_string();
        let request = submit(&by, given, Command::Report(Box::new(report)));
        let mut reply = None;
        for _ in 0..5 {
            reply = self.cluster.send(&mut self.rng, request.clone()).await;
            let answered = matches!(reply, Some(Ok(_)));
            if answered && !self.with_faults(8) {
                return reply;
            }
            let again = self.rng.between(50, 1500);
            sleep(Duration::from_millis(again)).await;
        }
        reply
    }

    /// Sends a command without the right to it: with a lost lease, a wrong fence, or another worker's name.
    async fn send_unauthorized(&mut self, task: &Task) {
        let mut hold = task.hold.clone();
        match self.rng.between(0, 7) {
            0..=2 => {}
            3 => hold.fence = Fence(hold.fence.0 + self.rng.between(1, 2)),
            4 => hold.fence = Fence(hold.fence.0 - 1),
            _ => hold.worker = "stranger".into(),
        }
        let by = Actor::worker(&hold.worker).to_string();
        let command = match self.rng.between(0, 5) {
            0 => Command::Heartbeat(hold),
            1 => Command::Progress { hold, percent: 50.0, message: None },
            2 => Command::Disconnect(hold),
            3 => {
                let asset = self.asset(task, None);
                Command::AddAsset(Box::new(NewAsset { holder: Some(holder(hold)), ..asset }))
            }
            _ => {
                let verb = if self.rng.percent(20) { Verb::Start } else { self.random_report() };
                Command::Report(Box::new(Report { job: hold.job, holder: Some(holder(hold)), verb }))
            }
        };
        self.cluster.send(&mut self.rng, submit(&by, None, command)).await;
    }
}

fn holder(Hold { worker, fence, .. }: Hold) -> Holder {
    Holder { worker, fence }
}

fn is_conflict(reply: &Reply) -> bool {
    matches!(reply, Some(Ok(Err(Refusal::LeaseConflict { .. }))))
}

fn error(class: Class) -> JobError {
    let stage = Some(Stage::Exec);
    JobError { class, stage, ..JobError::own("BROKEN", "it broke", Category::Engine) }
}
