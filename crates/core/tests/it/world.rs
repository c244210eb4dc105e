//! An in-memory store with a manual clock. It checks the laws after every batch, whatever a test is about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::automation::AutomationId;
use tenure_core::command::KeyId;
use tenure_core::credit::{Account, LedgerLine};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::decide::decide_batch;
use tenure_core::event::{AuditLine, LogLine, Telemetry};
use tenure_core::fold::{self, Record};
use tenure_core::id::{QueueName, UserId};
use tenure_core::job::LifecycleRef;
use tenure_core::lifecycle::Timeout;
use tenure_core::limits;
use tenure_core::time::Now;
use tenure_core::working_set::{AssetChanges, KeyRecord, Reads, WorkingSet};

use crate::prelude::*;

/// When every world begins: 2026-01-01T00:00:00Z, the start of a minute.
pub(crate) const START: Timestamp = Timestamp(1_767_225_600_000);

/// A rule that was followed: its lifecycle and its index there.
pub(crate) type Followed = (LifecycleName, usize);

/// The tables of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tables {
    pub(crate) jobs: BTreeMap<JobId, Arc<Job>>,
    pub(crate) events: BTreeMap<JobId, Vec<Event>>,
    pub(crate) keys: BTreeMap<KeyId, KeyRecord>,
    pub(crate) accounts: BTreeMap<UserId, Account>,
    pub(crate) paused: BTreeSet<QueueName>,
    pub(crate) dead_letters: BTreeMap<JobId, DeadLetter>,
    pub(crate) lifecycles: BTreeMap<LifecycleRef, String>,
    pub(crate) logs: BTreeMap<JobId, Vec<LogLine>>,
    pub(crate) ledger: Vec<LedgerLine>,
    pub(crate) audit: Vec<AuditLine>,
    pub(crate) telemetry: Vec<Telemetry>,
    pub(crate) api_keys: BTreeMap<Name, ApiKey>,
    pub(crate) workers: BTreeMap<WorkerId, WorkerRecord>,
    pub(crate) assets: BTreeMap<AssetId, Asset>,
    pub(crate) garbage: BTreeMap<String, Timestamp>,
    pub(crate) automations: BTreeMap<AutomationId, Automation>,
    pub(crate) restored_at: Timestamp,
    pub(crate) flow: Arc<FlowState>,
    pub(crate) levels: BTreeMap<BucketId, TokenLevel>,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) catalog: Catalog,
    pub(crate) now: Now,
    pub(crate) tables: Tables,
    pub(crate) followed: BTreeSet<Followed>,
    /// Each job as a batch left it after this many transitions.
    pub(crate) snapshots: BTreeMap<(JobId, u32), Arc<Job>>,
}

impl World {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            now: Now { at: START, stopped: Millis(0) },
            tables: Tables::default(),
            followed: BTreeSet::new(),
            snapshots: BTreeMap::new(),
        }
    }

    pub(crate) fn wait(&mut self, span: Millis) {
        self.now.at = self.now.at + span;
    }

    /// Advances the clock while nothing runs. What was due before is swept first, as it would have been.
    pub(crate) fn outage(&mut self, span: Millis) {
        self.sweep_all();
        self.wait(span);
        self.now.stopped.0 += span.0;
    }

    /// Advances the clock to a deadline, if it is in the future.
    pub(crate) fn wait_until(&mut self, deadline: Deadline) {
        self.now.at = self.now.at.max(self.now.calendar(deadline));
    }

    /// Submits one command. A refused command must change nothing except what was due anyway.
    pub(crate) fn submit(&mut self, envelope: &CommandEnvelope) -> CommandResult {
        let before = self.clone();
        let result = self.submit_all(std::slice::from_ref(envelope)).remove(0);
        if let Err(refusal) = &result {
            let changed = self.swept() != before.swept();
            assert!(!changed, "{:?} was refused ({refusal}) and changed something", envelope.command);
        }
        result
    }

    /// Submits a batch. Stores offer claims only jobs whose rows are ready, so due clocks are swept first.
    pub(crate) fn submit_all(&mut self, commands: &[CommandEnvelope]) -> Vec<CommandResult> {
        if commands.iter().any(|envelope| matches!(envelope.command, Command::Claim(_))) {
            self.sweep_all();
        }
        self.commit(commands)
    }

    /// Sweeps every job whose clock has run out.
    pub(crate) fn sweep_all(&mut self) {
        let running = self.now.running();
        let is_due = |job: &&Arc<Job>| job.next_clock().is_some_and(|deadline| deadline <= running);
        let due: Vec<JobId> = self.tables.jobs.values().filter(is_due).map(|job| job.id()).collect();
        for id in due {
            let result = self.commit(&[sweep(id)]).remove(0);
            assert!(result.is_ok(), "a sweep is never refused: {result:?}");
        }
    }

    /// The tables after a sweep of every job, in an order that does not depend on the order of sweeps.
    pub(crate) fn swept(&self) -> Tables {
        let mut world = self.clone();
        world.sweep_all();
        let mut tables = world.tables;
        tables.ledger.sort_by_key(|line| (line.ts, line.job_id, line.kind));
        tables.audit.sort_by_key(|line| (line.ts, line.job_id, line.action.clone()));
        tables.telemetry.sort_by_key(|line| (line.job_id, line.ts));
        tables
    }

    fn commit(&mut self, commands: &[CommandEnvelope]) -> Vec<CommandResult> {
        let mut set = self.tables.load(&Reads::of(commands), self.now);
        let results = decide_batch(&mut set, &self.catalog, commands, self.now);
        assert_eq!(results.len(), commands.len(), "one result for each command");
        let before = self.tables.clone();
        let touched = self.tables.write(set);
        self.check_laws(&before, &touched);
        for id in commands.iter().filter_map(|envelope| envelope.command.job()) {
            let next = self.tables.jobs.get(&id).and_then(|job| job.next_clock());
            let in_future = next.is_none_or(|next| self.now.running() < next);
            assert!(in_future, "law 9: {id} has a clock that has run out");
        }
        results
    }

    fn check_laws(&mut self, before: &Tables, touched: &BTreeSet<JobId>) {
        for id in touched {
            let Some(job) = self.tables.jobs.get(id).cloned() else { continue };
            let lifecycle = self.catalog.lifecycle(&job.spec.lifecycle).cloned().expect("it is known");
            let found = fold::verify(&self.tables.record(&job), Some(&lifecycle));
            assert!(found.is_empty(), "{found:#?}\n{job:#?}\n{:#?}", self.tables.events[id]);
            check_change(before.jobs.get(id).map(AsRef::as_ref), &job);
            check_clock(&job, &lifecycle);
            let past = before.events.get(id).map_or(0, Vec::len);
            let (old, new) = self.tables.events[id].split_at(past);
            assert_eq!(old, before.events.get(id).map_or(&[][..], Vec::as_slice), "history is append-only");
            for event in new {
                assert!(event.ts <= self.now.at, "no event is in the future: {event:?}");
                self.followed.extend(rule_of(&lifecycle, event));
            }
            check_forward(&lifecycle, &self.tables.events[id]);
            self.snapshots.insert((*id, job.seq), job);
        }
        for (user, account) in &self.tables.accounts {
            let lines = self.tables.ledger.iter().filter(|line| line.user_id == *user);
            let sums: Vec<_> = lines.map(|line| (line.kind, line.amount)).collect();
            assert_eq!(fold::verify_account(user, *account, &sums), [], "credits are conserved");
        }
    }
}

/// Checks a job against its previous version.
fn check_change(before: Option<&Job>, after: &Job) {
    let Some(before) = before else { return };
    assert!(before.seq <= after.seq && before.attempt <= after.attempt && before.fence <= after.fence);
    assert_eq!(before.spec, after.spec, "the specification never changes");
    if before.phase.is_final() {
        let mut before = before.clone();
        before.output.log_count = after.output.log_count;
        assert_eq!(before, *after, "law 2: final states absorb");
    }
}

/// Law 10: a job that is leased or waits for a time always has a running clock.
fn check_clock(job: &Job, lifecycle: &Lifecycle) {
    let state = lifecycle.state(job.state.as_str()).expect("verified");
    let must = job.phase.is_leased() || (job.phase == Phase::Waiting && state.timeout != Timeout::Never);
    assert!(!must || job.next_clock().is_some(), "law 10: {} may stay {} indefinitely", job.id(), job.state);
}

/// Law 3, implemented a second time, without [`fold`].
fn check_forward(lifecycle: &Lifecycle, events: &[Event]) {
    let rank = |state: &StateName| lifecycle.state(state.as_str()).expect("a state of the lifecycle").rank;
    let numbered: Vec<&Event> = events.iter().filter(|event| event.seq.is_some()).collect();
    for pair in numbered.windows(2) {
        let is_amendment = pair[1].trigger == Trigger::Amend;
        let [last, next] = [pair[0], pair[1]].map(|event| (event.attempt, rank(&event.to)));
        assert!(
            if is_amendment { last == next } else { last < next },
            "law 3: {last:?} is not before {next:?}"
        );
    }
}

/// The rule that an event followed; a note and an amendment follow none.
fn rule_of(lifecycle: &Lifecycle, event: &Event) -> Option<Followed> {
    event.seq.filter(|_| event.trigger != Trigger::Amend)?;
    let index = lifecycle.rules.iter().position(|rule| {
        rule.on == event.trigger && rule.from == event.from && rule.to == event.to && rule.event == event.name
    });
    Some((lifecycle.name.clone(), index.expect("law 1: every event follows a rule")))
}

pub(crate) fn sweep(id: JobId) -> CommandEnvelope {
    CommandEnvelope { by: Actor::clock().into(), key: None, command: Command::Sweep(id) }
}

fn found<K: Ord + Clone, V: Clone>(table: &BTreeMap<K, V>, wanted: &BTreeSet<K>) -> BTreeMap<K, V> {
    wanted.iter().filter_map(|key| Some((key.clone(), table.get(key)?.clone()))).collect()
}

impl Tables {
    /// Loads what [`Reads`] names and what that refers to, and nothing else.
    fn load(&self, reads: &Reads, now: Now) -> WorkingSet {
        let mut set = WorkingSet {
            keys: found(&self.keys, &reads.keys),
            accounts: found(&self.accounts, &reads.accounts),
            dead_letters: found(&self.dead_letters, &reads.dead_letters),
            lifecycles: found(&self.lifecycles, &reads.lifecycles),
            automations: found(&self.automations, &reads.automations),
            api_keys: if reads.api_keys { self.api_keys.clone() } else { BTreeMap::new() },
            paused: self.paused.clone(),
            assets: reads.assets.iter().map(|job| (*job, self.assets_of(*job))).collect(),
            garbage: found(&self.garbage, &reads.garbage),
            restored_at: self.restored_at,
            ..WorkingSet::default()
        };
        let amended = reads.unique_of.iter().filter_map(|id| self.jobs.get(id));
        let records = amended.filter_map(|job| reads.record_of(job)).collect();
        set.keys.extend(found(&self.keys, &records));
        let mut wanted = reads.jobs.clone();
        wanted.extend(set.keys.values().flat_map(|record| record.targets.iter().map(|(job, _)| *job)));
        for (filter, max) in &reads.claims {
            let fits = |job: &&Arc<Job>| {
                job.phase == Phase::Ready
                    && job.run_at <= now.at
                    && filter.admits(&job.spec.queue, &job.spec.job_type)
                    && !self.paused.contains(&job.spec.queue)
            };
            let mut best: Vec<&Arc<Job>> = self.jobs.values().filter(fits).collect();
            best.sort_by_key(|job| (std::cmp::Reverse(job.priority()), job.run_at, job.id()));
            let max = max.iter().map(|max| *max as usize).sum();
            // Without regard to flow control: core itself must not claim what that forbids.
            let offered = if self.flow.declarations.is_empty() { max } else { best.len() };
            let candidates: Vec<JobId> = best.iter().take(offered).map(|job| job.id()).collect();
            wanted.extend(&candidates);
            let candidates = candidates.into_iter().map(Candidate::from).collect();
            set.candidates.insert(filter.clone(), candidates);
        }
        let compensated = |id: &JobId| self.jobs.get(id).and_then(|job| job.spec.links.compensates);
        wanted.extend(wanted.iter().filter_map(compensated).collect::<Vec<_>>());
        for job in wanted.iter().filter_map(|id| self.jobs.get(id)) {
            if let Some(user) = job.spec.user_id.as_ref().filter(|_| job.spec.cost > 0) {
                set.accounts.extend(self.accounts.get(user).map(|account| (user.clone(), *account)));
            }
            set.jobs.insert(job.id(), Arc::clone(job));
        }
        set.flow = self.flow_view();
        set
    }

    /// Counts every unfinished job.
    fn flow_view(&self) -> FlowView {
        let mut view = FlowView { state: Arc::clone(&self.flow), ..FlowView::default() };
        view.position = self.events.values().map(Vec::len).sum::<usize>() as u64;
        for (bucket, level) in &self.levels {
            view.buckets.entry(bucket.clone()).or_default().level = *level;
        }
        for job in self.jobs.values().filter(|job| !job.phase.is_final()) {
            for used in &job.flow().resources {
                let bucket = view.buckets.entry(used.bucket()).or_default();
                bucket.unfinished += 1;
                bucket.running += if job.lease.is_some() { used.units } else { 0 };
            }
            if let Some(sequence) = job.flow().sequence_of(&job.spec.job_type) {
                view.sequences.entry(sequence).or_default().push((job.flow().place, job.id()));
            }
        }
        view.sequences.values_mut().for_each(|jobs| jobs.sort_unstable());
        view.buckets_in_use = view.buckets.len();
        view
    }

    fn write_flow(&mut self, records: &BTreeMap<FlowRecordId, Option<FlowRecord>>) {
        for (id, record) in records {
            match record {
                Some(FlowRecord::Level(bucket, level, _)) => drop(self.levels.insert(bucket.clone(), *level)),
                record => Arc::make_mut(&mut self.flow).apply(id, record.as_ref()),
            }
        }
    }

    /// Writes the changes of a batch, and returns the jobs that it touched.
    fn write(&mut self, set: WorkingSet) -> BTreeSet<JobId> {
        let changes = set.changes;
        self.write_assets(&changes.assets);
        let jobs = &changes.jobs;
        let mut touched: BTreeSet<JobId> = jobs.created.iter().chain(&jobs.updated).copied().collect();
        assert!(jobs.created.iter().all(|id| !self.jobs.contains_key(id)), "a created job is new");
        assert!(jobs.updated.iter().all(|id| self.jobs.contains_key(id)), "an updated job exists");
        self.jobs.extend(touched.iter().map(|id| (*id, Arc::clone(&set.jobs[id]))));
        let appended = changes.appended;
        for event in appended.events {
            touched.insert(event.job_id);
            self.events.entry(event.job_id).or_default().push(event);
        }
        for (id, line) in appended.logs {
            self.logs.entry(id).or_default().push(line);
        }
        self.ledger.extend(appended.ledger);
        self.audit.extend(appended.audit);
        self.telemetry.extend(appended.telemetry);
        let upserted = changes.upserted;
        self.write_flow(&upserted.flow);
        self.accounts.extend(upserted.accounts.into_iter().map(|user| (user.clone(), set.accounts[&user])));
        self.dead_letters.extend(upserted.dead_letters.iter().map(|id| (*id, set.dead_letters[id].clone())));
        self.keys.extend(upserted.keys.iter().map(|id| (*id, set.keys[id].clone())));
        let sources = upserted.lifecycles.iter().map(|key| (key.clone(), set.lifecycles[key].clone()));
        self.lifecycles.extend(sources);
        self.api_keys.extend(upserted.api_keys.iter().map(|id| (id.clone(), set.api_keys[id].clone())));
        for (id, at) in upserted.keys_used {
            if let Some(key) = self.api_keys.get_mut(&id) {
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        for (name, mut worker) in upserted.workers {
            let before = self.workers.get(&name).and_then(|known| known.connection);
            worker.connection = worker.connection.or(before);
            self.workers.insert(name, worker);
        }
        for id in upserted.automations {
            match set.automations.get(&id) {
                Some(automation) => self.automations.insert(id, automation.clone()),
                None => self.automations.remove(&id),
            };
        }
        for (queue, paused) in upserted.queues {
            if paused {
                self.paused.insert(queue)
            } else {
                self.paused.remove(&queue)
            };
        }
        for id in &jobs.purged {
            self.purge(*id);
        }
        if let Some(now) = changes.prune {
            self.telemetry.retain(|line| now < line.keep_until);
            self.keys.retain(|_, record| now < record.expires_at);
            let kept = Millis(limits::WORKER_UNSEEN_MS_MAX);
            self.workers.retain(|_, worker| now < worker.seen_at + kept);
        }
        touched
    }

    pub(crate) fn assets_of(&self, job: JobId) -> Vec<Asset> {
        self.assets.values().filter(|asset| asset.job_id == job).cloned().collect()
    }

    fn write_assets(&mut self, changes: &AssetChanges) {
        self.garbage.extend(changes.garbage.clone());
        for (job, at) in &changes.discarded {
            for asset in self.assets.values_mut().filter(|asset| asset.job_id == *job) {
                asset.discarded_at.get_or_insert(*at);
            }
        }
        for asset in &changes.added {
            if asset.discarded_at.is_none() {
                self.garbage.retain(|path, _| Some(path) != asset.storage_path.as_ref());
            }
            self.assets.insert(asset.id, asset.clone());
        }
        self.garbage.retain(|path, _| !changes.forgotten.contains(path));
    }

    fn purge(&mut self, id: JobId) {
        self.assets.retain(|_, asset| asset.job_id != id);
        self.jobs.remove(&id);
        self.events.remove(&id);
        self.logs.remove(&id);
        self.dead_letters.remove(&id);
        self.telemetry.retain(|line| line.job_id != id);
    }

    fn record(&self, job: &Arc<Job>) -> Record {
        let lines = self.logs.get(&job.id()).map_or(&[][..], Vec::as_slice);
        Record {
            job: Arc::clone(job),
            events: self.events[&job.id()].clone(),
            dead_letter: self.dead_letters.get(&job.id()).cloned(),
            ledger: self.ledger.iter().filter(|line| line.job_id == Some(job.id())).cloned().collect(),
            logs: (lines.len() as u64, lines.last().map_or(0, |line| line.n)),
        }
    }
}
