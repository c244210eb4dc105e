//! The auditor: an independent model of the ten laws and of flow control. It follows the journal, checks every reply of a node, and compares
//! both with the rows. It shares no code with what it checks: ranks, leases, delays and conditions are computed here, from
//! the lifecycles' data.

mod amendments;
mod assets;
mod credits;
mod final_checks;
mod flow;
mod job_model;
mod laws;
mod refusals;
mod replies;
mod rules;
mod schedules;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use tenure_core::id::TypeName;
use tenure_core::webhook::Webhook;

use crate::fixtures::TypeModel;
use crate::prelude::*;
use crate::ready;
use crate::trace::{FNV_START, Trace, fnv};
use assets::AssetModel;
use credits::CreditModel;
use flow::{FlowAuditor, FlowCounts, Step};
use job_model::JobModel;
use laws::Deadline;
use schedules::ScheduleModel;
use webhooks::WebhookModel;

/// An idle node sweeps within this time.
const SWEEP_MS_MAX: i64 = 1000;
/// After this time without a fault, sweeps are expected to be in time again.
const STABLE: Duration = Duration::from_millis(1500);

#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) law: u8,
    pub(crate) job: Option<JobId>,
    pub(crate) what: String,
    pub(crate) expected: Option<String>,
}

impl Violation {
    pub(crate) fn new(law: u8, job: Option<JobId>, what: String) -> Self {
        Self { law, job, what, expected: None }
    }
}

#[derive(Debug)]
pub(crate) struct Auditor {
    store: Store,
    trace: Rc<Trace>,
    position: Position,
    /// Job and hash of every event that was read.
    events_read: Vec<(JobId, u64)>,
    models: BTreeMap<JobId, JobModel>,
    keys: KeyUses,
    credits: CreditModel,
    flow: FlowAuditor,
    schedules: ScheduleModel,
    webhooks: WebhookModel,
    assets: AssetModel,
    /// Claims without a reply, and since when.
    waiting: BTreeMap<u64, (Claim, Timestamp)>,
    requests: u64,
    /// Total time of all outages, in milliseconds.
    stopped: i64,
    /// The store's time.
    now: Timestamp,
    faults_ended_at: Option<Timestamp>,
    checks: u32,
    violations: Vec<Violation>,
}

/// The jobs of each idempotency key.
#[derive(Debug, Default)]
struct KeyUses {
    /// User, type and key of a creation.
    creations: BTreeMap<(Option<UserId>, TypeName, Name), JobId>,
    /// User, type and parts of a derived key; and when.
    derived: BTreeMap<(Option<UserId>, TypeName, String), (JobId, Timestamp)>,
    /// Verb, job and key of all other commands.
    verbs: BTreeSet<(&'static str, JobId, Name)>,
    /// Worker and request id of each claim, and the jobs and fences it got.
    claims: BTreeMap<(WorkerId, Name), BTreeSet<(JobId, u64)>>,
}

impl Auditor {
    pub(crate) fn new(store: Store, trace: Rc<Trace>) -> Self {
        Self {
            store,
            trace,
            position: Position(0),
            events_read: Vec::new(),
            models: BTreeMap::new(),
            keys: KeyUses::default(),
            credits: CreditModel::default(),
            flow: FlowAuditor::default(),
            schedules: ScheduleModel::default(),
            webhooks: WebhookModel::default(),
            assets: AssetModel::default(),
            waiting: BTreeMap::new(),
            requests: 0,
            stopped: 0,
            now: Timestamp(0),
            faults_ended_at: None,
            checks: 0,
            violations: Vec::new(),
        }
    }

    pub(crate) fn report(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    pub(crate) fn has_violations(&self) -> bool {
        !self.violations.is_empty()
    }

    pub(crate) fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }

    pub(crate) fn jobs_seen(&self) -> u64 {
        self.models.len() as u64
    }

    pub(crate) fn events_seen(&self) -> u64 {
        self.events_read.len() as u64
    }

    pub(crate) fn firings_seen(&self) -> u64 {
        self.schedules.fired()
    }

    pub(crate) fn deliveries_seen(&self) -> u64 {
        self.webhooks.deliveries()
    }

    pub(crate) fn flow_seen(&self) -> FlowCounts {
        self.flow.counts
    }

    pub(crate) fn uploads_seen(&self) -> u64 {
        self.assets.uploads()
    }

    /// The receiver of a webhook got an event.
    pub(crate) fn receive(&mut self, webhook: &Webhook, position: Position) {
        self.read();
        let violation = self.webhooks.receive(webhook, position, &self.store);
        self.violations.extend(violation);
    }

    /// An upload wrote an object.
    pub(crate) fn object_written(&mut self, path: &str, job: JobId) {
        self.assets.written(path, job, self.now);
    }

    /// Compares the objects that exist with the assets.
    pub(crate) fn check_objects(&mut self, existing: &BTreeSet<String>) {
        let violation = self.assets.check(&self.store, existing, self.now, self.faults_ended_at);
        self.violations.extend(violation);
    }

    pub(crate) fn journal_hash(&self) -> u64 {
        self.events_read.iter().fold(0, |so_far, (_, one)| so_far.rotate_left(5) ^ one)
    }

    /// Sets the store's time, before each check.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    pub(crate) fn note_end_of_faults(&mut self) {
        self.faults_ended_at = Some(self.now);
    }

    /// No node reached the store for this time: all clocks stood still.
    pub(crate) fn note_outage(&mut self, span: Millis) {
        self.stopped += span.0 as i64;
    }

    /// The time in which some node reached the store.
    fn running(&self) -> i64 {
        self.now.0 - self.stopped
    }

    pub(crate) fn are_all_jobs_final(&self) -> bool {
        self.models.values().all(|model| model.phase.is_final())
    }

    /// Reads new events of the journal, and compares the rows of their jobs.
    pub(crate) fn read(&mut self) {
        let mut changed = BTreeSet::new();
        loop {
            let page = ready(self.store.events(self.position, 500)).unwrap_or_default();
            let is_first = changed.is_empty();
            if is_first && (!page.is_empty() || self.flow.is_changing()) {
                self.flow.read_rows(&self.store, self.now);
            }
            let Some(last) = page.last() else { break };
            self.position = last.position;
            for entry in &page {
                self.take(&entry.event);
                let violation = self.schedules.note(entry);
                self.violations.extend(violation);
                self.webhooks.note(entry);
                changed.insert(entry.event.job_id);
            }
        }
        if self.violations.is_empty() && (!changed.is_empty() || self.flow.is_changing()) {
            let violation = self.flow.check_rows(&self.models);
            self.violations.extend(violation);
        }
        let (violations, paid) = self.credits.read(&self.store, &self.models);
        for id in changed.union(&paid) {
            self.compare(*id);
        }
        self.violations.extend(violations);
    }

    /// Compares the rows of schedules and webhooks with the journal as it was read last: right after [`Self::read`].
    fn read_automations(&mut self) {
        self.violations.extend(self.schedules.read(&self.store, self.now, self.trace.elapsed_ms()));
        self.violations.extend(self.webhooks.read(&self.store));
    }

    fn take(&mut self, event: &Event) {
        self.events_read.push((event.job_id, hash(event)));
        self.trace.record(Some(event.job_id), describe(event));
        let id = event.job_id;
        if !self.models.contains_key(&id) && !self.add_job(event) {
            return;
        }
        let Some(model) = self.models.get_mut(&id) else { return };
        if event.seq.is_none() {
            model.notes += 1;
            return;
        }
        let running = event.ts.0 - self.stopped;
        if let Some(violation) = model.check(event, running) {
            self.violations.push(violation);
            return;
        }
        let is_request = self.judge_flow(event);
        if is_request {
            flow::cancel_others(&mut self.models, id, running);
        }
        if let Some(model) = self.models.get_mut(&id) {
            model.apply(event, running);
        }
    }

    /// Judges an event by flow control. True for the creation of a job that a user asked for.
    fn judge_flow(&mut self, event: &Event) -> bool {
        let Some(model) = self.models.get(&event.job_id) else { return false };
        let by_worker = |(claim, _): &&(Claim, Timestamp)| Actor::worker(&claim.worker) == event.actor;
        let claims = self.waiting.values().filter(by_worker).map(|(claim, _)| claim).collect();
        let step = Step { event, model, models: &self.models, claims, now: self.now };
        let is_request = event.trigger == Trigger::Create && step.is_request();
        let violation = self.flow.take(&step);
        self.violations.extend(violation);
        is_request
    }

    /// Adds the job of a first event. Its spec is read from the row here, and never again.
    fn add_job(&mut self, event: &Event) -> bool {
        let id = event.job_id;
        self.trace.label(id);
        let row = ready(self.store.job(id)).ok().flatten();
        let kind = row.as_ref().and_then(|row| TypeModel::of(&row.spec));
        let (Some(row), Some(kind)) = (row, kind) else {
            self.report(Violation::new(6, Some(id), "an event of a job without a row".to_owned()));
            return false;
        };
        let model = JobModel::new(kind, row.spec.clone());
        let has_row = |id: &JobId| ready(self.store.job(*id)).is_ok_and(|row| row.is_some());
        let first = |id: &JobId| self.models.get(id).filter(|_| has_row(id));
        let violation = self.keys.note_creation(&model, event.ts, first);
        self.violations.extend(violation);
        self.models.insert(id, model);
        true
    }

    fn compare(&mut self, id: JobId) {
        let now_ms = self.trace.elapsed_ms();
        let Some(model) = self.models.get_mut(&id) else { return };
        match ready(self.store.job(id)).ok().flatten() {
            Some(row) if !model.purged => self.violations.extend(model.compare(&row, now_ms)),
            Some(_) => {
                self.violations.push(model.violation(2, "the row is back after its retention", "no row"));
            }
            None if model.kept_until().is_some_and(|until| until <= self.now) => model.purged = true,
            None => {
                let expected = format!("a row until {:?}", model.kept_until());
                self.violations.push(model.violation(8, "the row is missing", expected));
            }
        }
    }

    /// Law 9: without faults, deadlines fire within a second.
    pub(crate) fn check_clocks(&mut self, stable: Duration) {
        self.checks += 1;
        self.read_automations();
        if self.checks.is_multiple_of(10) {
            let due = |model: &&JobModel| model.kept_until().is_none_or(|until| until <= self.now);
            for id in self.models.values().filter(due).map(JobModel::id).collect::<Vec<_>>() {
                self.compare(id);
            }
        }
        if stable < STABLE {
            return;
        }
        self.check_waiting();
        self.violations.extend(self.schedules.late(self.now));
        let running = self.running();
        for model in self.models.values().filter(|model| !model.phase.is_final()) {
            let is_late = |one: &Deadline| one.latest.saturating_add(SWEEP_MS_MAX) < running;
            if let Some(late) = model.deadlines().into_iter().find(is_late) {
                let what = format!("at {running} {} of {} has not fired", late.what, late.latest);
                self.violations.push(model.violation(9, what, "within a second"));
                return;
            }
        }
    }

    /// Law 10: without faults, no job is ready while a matching claim waits.
    fn check_waiting(&mut self) {
        let long_ago = |at: Timestamp| at.0 + STABLE.as_millis() as i64 <= self.now.0;
        if !self.faults_ended_at.is_some_and(long_ago) {
            return;
        }
        let ready = |model: &&JobModel| {
            model.phase == Phase::Ready && long_ago(model.run_at) && long_ago(model.updated_at)
        };
        for model in self.models.values().filter(ready) {
            let spec = &model.spec;
            let matches = |(claim, since): &&(Claim, Timestamp)| {
                long_ago(*since) && claim.filter.admits(&spec.queue, &spec.job_type)
            };
            if self.flow.may_wait(model, &self.models, self.now) {
                continue;
            }
            if let Some((_, since)) = self.waiting.values().find(matches) {
                let what = format!("ready since {}, and a matching claim waits since {since}", model.run_at);
                self.violations.push(model.violation(10, what, "the claim gets the job"));
                return;
            }
        }
    }
}

impl KeyUses {
    /// Law 7: a key in use has one job.
    fn note_creation<'a>(
        &mut self,
        model: &JobModel,
        ts: Timestamp,
        find: impl Fn(&JobId) -> Option<&'a JobModel>,
    ) -> Option<Violation> {
        let spec = &model.spec;
        let key = spec.links.idempotency_key.clone()?;
        let in_use = |id: &JobId| {
            let first = find(id)?;
            (!first.kind.lifecycle.idempotency.reusable.contains(&first.state)).then_some(*id)
        };
        let scope = (spec.user_id.clone(), spec.job_type.clone(), key.clone());
        let given = self.creations.insert(scope, model.id()).as_ref().and_then(in_use);
        let is_derived = key.as_str().len() == 32;
        let payload = spec.payload.to_value().unwrap_or_default();
        let names = model.kind.lifecycle.idempotency.derive.iter();
        let parts = names.filter_map(|name| Some(payload.get(name.strip_prefix("payload.")?)?.to_string()));
        let parts: String = parts.collect::<Vec<_>>().join("|");
        let derived = is_derived.then(|| {
            let scope = (spec.user_id.clone(), spec.job_type.clone(), parts);
            self.derived.insert(scope, (model.id(), ts)).filter(|(_, at)| ts.0 - at.0 < 60_000)
        });
        let derived = derived.flatten().and_then(|(first, _)| in_use(&first));
        let first = given.or(derived)?;
        let what = format!("key {key} created this job although job {first} has it");
        Some(model.violation(7, what, "the existing job"))
    }
}

fn describe(event: &Event) -> String {
    let from = event.from.as_deref().unwrap_or("nothing");
    let seq = event.seq.map_or_else(|| "note".to_owned(), |seq| format!("event {seq}"));
    let Event { name, to, attempt, actor, ts, .. } = event;
    let cause = event.cause.as_ref().map(|cause| format!(" [{cause}]")).unwrap_or_default();
    let at = ts.0 % 1_000_000_000;
    format!("    {seq}: {name}, {from} → {to}, attempt {attempt}, by {actor}{cause}, at {at}")
}

/// The hash of an event's text.
fn hash(event: &Event) -> u64 {
    let facts = serde_json::to_string(&event.facts).unwrap_or_default();
    let Event { job_id, seq, name, ts, actor, .. } = event;
    fnv(FNV_START, format!("{job_id} {seq:?} {name} {} {actor} {facts}", ts.0).as_bytes())
}
