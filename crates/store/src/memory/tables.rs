//! The tables of the memory store: loads, writes and reads.

mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::assets::Assets;
use super::clock::MemoryClock;
use super::expiry::Expiring as _;
use crate::live::Live;
use crate::prelude::*;
use crate::*;

#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) clock: MemoryClock,
    live: Live,
    finished: BTreeMap<JobId, Arc<Job>>,
    journal: BTreeMap<Position, Event>,
    histories: BTreeMap<JobId, Vec<Position>>,
    position: u64,
    telemetry: Vec<Telemetry>,
    logs: BTreeMap<JobId, Vec<LogLine>>,
    dead_letters: BTreeMap<JobId, DeadLetter>,
    accounts: BTreeMap<UserId, Account>,
    ledger: Vec<LedgerLine>,
    audit: Vec<AuditLine>,
    paused: BTreeSet<QueueName>,
    keys: BTreeMap<KeyId, KeyRecord>,
    lifecycles: BTreeMap<LifecycleRef, String>,
    api_keys: BTreeMap<Name, ApiKey>,
    sessions: BTreeMap<Name, Session>,
    workers: BTreeMap<WorkerId, WorkerRecord>,
    nodes: BTreeMap<Name, NodeRecord>,
    assets: Assets,
    automations: BTreeMap<AutomationId, Automation>,
}

/// Rows with their numbers, from 1.
fn numbered<T>(rows: &[T]) -> impl DoubleEndedIterator<Item = (u64, &T)> {
    rows.iter().enumerate().map(|(index, row)| (index as u64 + 1, row))
}

pub(super) fn found<K: Ord + Clone, V: Clone>(
    table: &BTreeMap<K, V>,
    wanted: &BTreeSet<K>,
) -> BTreeMap<K, V> {
    wanted.iter().filter_map(|key| Some((key.clone(), table.get(key)?.clone()))).collect()
}

impl Tables {
    pub(super) fn on(clock: MemoryClock) -> Self {
        Self { clock, ..Self::default() }
    }

    pub(super) fn load(&mut self, reads: &Reads, now: Now) -> WorkingSet {
        let mut set = WorkingSet {
            keys: found(&self.keys, &reads.keys),
            accounts: found(&self.accounts, &reads.accounts),
            dead_letters: found(&self.dead_letters, &reads.dead_letters),
            lifecycles: found(&self.lifecycles, &reads.lifecycles),
            automations: found(&self.automations, &reads.automations),
            api_keys: if reads.api_keys { self.api_keys.clone() } else { BTreeMap::new() },
            paused: self.paused.clone(),
            ..WorkingSet::default()
        };
        self.assets.load(reads, &mut set);
        let mut wanted = reads.jobs.clone();
        wanted.extend(set.keys.values().flat_map(|record| record.targets.iter().map(|(job, _)| *job)));
        for (filter, max) in &reads.claims {
            let candidates = self.live.claimable(filter, &self.paused, *max, now.at);
            wanted.extend(&candidates);
            set.candidates.insert(filter.clone(), candidates);
        }
        let first = |id: &JobId| self.find(*id).and_then(|job| job.spec.links.compensates);
        wanted.extend(wanted.iter().filter_map(first).collect::<Vec<_>>());
        for job in wanted.into_iter().filter_map(|id| self.find(id)) {
            if let Some(user) = job.spec.user_id.as_ref().filter(|_| job.spec.cost > 0) {
                set.accounts.extend(self.accounts.get(user).map(|account| (user.clone(), *account)));
            }
            set.jobs.insert(job.id(), Arc::clone(job));
        }
        set
    }

    pub(super) fn write(&mut self, mut set: WorkingSet) {
        let changes = std::mem::take(&mut set.changes);
        self.assets.write(&changes);
        for id in changes.jobs.created.iter().chain(&changes.jobs.updated) {
            let job = &set.jobs[id];
            self.live.put(Arc::clone(job));
            if job.phase.is_final() {
                self.finished.insert(*id, Arc::clone(job));
            }
        }
        for event in changes.appended.events {
            self.position += 1;
            self.histories.entry(event.job_id).or_default().push(Position(self.position));
            self.journal.insert(Position(self.position), event);
        }
        for (job, line) in changes.appended.logs {
            self.logs.entry(job).or_default().push(line);
        }
        self.telemetry.extend(changes.appended.telemetry);
        self.erase_users(&changes.erased_users);
        self.ledger.extend(changes.appended.ledger);
        self.audit.extend(changes.appended.audit);
        self.upsert(&set, changes.upserted);
        self.purge(&changes.jobs.purged);
        if let Some(now) = changes.prune {
            self.prune(now);
        }
    }

    fn find(&self, id: JobId) -> Option<&Arc<Job>> {
        self.live.get(id).or_else(|| self.finished.get(&id))
    }
}

/// The reads of the store.
#[allow(clippy::needless_pass_by_value, reason = "the reads of a store take owned values")]
impl Tables {
    pub(super) fn job(&self, id: JobId) -> Option<Arc<Job>> {
        self.find(id).cloned()
    }

    pub(super) fn history(&self, id: JobId) -> Vec<Event> {
        let positions = self.histories.get(&id).map(Vec::as_slice).unwrap_or_default();
        let mut events: Vec<Event> =
            positions.iter().map(|position| self.journal[position].clone()).collect();
        events.sort_by_key(|event| event.seq.unwrap_or(u32::MAX));
        events
    }

    pub(super) fn journal_end(&self) -> Position {
        Position(self.position)
    }

    pub(super) fn events(&self, after: Position, limit: usize) -> Vec<JournalEntry> {
        let later = self.journal.range(Position(after.0 + 1)..).take(limit);
        later.map(|(position, event)| self.journaled(*position, event)).collect()
    }

    fn journaled(&self, position: Position, event: &Event) -> JournalEntry {
        let spec = &self.find(event.job_id).expect("a job is forgotten together with its events").spec;
        JournalEntry {
            position,
            event: event.clone(),
            lifecycle: spec.lifecycle.name.clone(),
            job_type: spec.job_type.clone(),
            queue: spec.queue.clone(),
            user_id: spec.user_id.clone(),
            correlation_id: spec.correlation_id(),
            trace_id: spec.trace_id(),
        }
    }

    fn all(&self) -> BTreeMap<JobId, &Arc<Job>> {
        self.live.jobs().chain(self.finished.values()).map(|job| (job.id(), job)).collect()
    }

    pub(super) fn list(&self, filter: JobFilter, page: Page) -> Vec<Arc<Job>> {
        let older = |id: JobId| page.before.is_none_or(|before| id < before);
        let all = self.all();
        let matching = all.values().rev().filter(|job| older(job.id()) && filter.admits(job));
        matching.take(page.limit).map(|job| Arc::clone(job)).collect()
    }

    pub(super) fn nth_older(&self, before: Option<JobId>, jobs: usize) -> Option<JobId> {
        let older = |id: &&JobId| before.is_none_or(|before| **id < before);
        self.all().keys().rev().filter(older).nth(jobs - 1).copied()
    }

    pub(super) fn counts(&self) -> Vec<Count> {
        let mut counts = BTreeMap::<_, u64>::new();
        for job in self.all().into_values() {
            *counts.entry(live::count_key(job)).or_default() += 1;
        }
        live::counts(counts.into_iter())
    }

    pub(super) fn gauges(&mut self) -> Gauges {
        let now = self.clock.now().at;
        let letters = self.dead_letters.values().filter(|letter| letter.dismissed.is_none());
        let written: BTreeSet<_> = letters.map(|letter| (letter.created_at, letter.job_id)).collect();
        Gauges {
            jobs: self.live.counts(),
            oldest_ready: self.live.oldest_ready(now),
            dead_letters: written.len() as u64,
            oldest_dead_letter: written.first().map(|(at, _)| *at),
        }
    }

    pub(super) fn waiting(&self, limit: usize) -> Vec<Arc<Job>> {
        self.live.waiting(limit).into_iter().filter_map(|(_, job)| job).collect()
    }

    pub(super) fn leased(
        &self,
        worker: Option<WorkerId>,
        after: Option<JobId>,
        limit: usize,
    ) -> Vec<Arc<Job>> {
        self.live.leased(worker.as_ref(), after, limit).into_iter().filter_map(|(_, job)| job).collect()
    }

    pub(super) fn due(&mut self, limit: usize) -> Vec<JobId> {
        self.live.due(self.clock.now().running(), limit)
    }

    pub(super) fn ready_jobs(&mut self, filters: Vec<ClaimFilter>, limit: usize) -> Vec<ReadyJobs> {
        self.live.ready_jobs(&filters, &self.paused, limit, self.clock.now().at)
    }

    pub(super) fn finished(&self, since: Timestamp, limit: usize) -> Vec<Arc<Job>> {
        let late = self.finished.values();
        let late = late.filter_map(|job| Some((job.times.completed_at.filter(|at| since <= *at)?, job.id())));
        let late: BTreeSet<_> = late.collect();
        late.into_iter().rev().take(limit).map(|(_, id)| Arc::clone(&self.finished[&id])).collect()
    }

    pub(super) fn api_keys(&self) -> Vec<ApiKey> {
        self.api_keys.values().cloned().collect()
    }

    pub(super) fn automations(&self, kind: AutomationKind) -> Vec<Automation> {
        let of_kind = self.automations.iter().filter(|((known, _), _)| *known == kind);
        of_kind.take(limits::AUTOMATIONS_MAX).map(|(_, automation)| automation.clone()).collect()
    }

    pub(super) fn due_automations(&mut self, kind: AutomationKind, limit: usize) -> Vec<Automation> {
        let now = self.clock.now().at;
        let due = self.automations.iter().filter(|((known, _), _)| *known == kind);
        let due = due.filter_map(|(id, automation)| Some((automation.due_at().filter(|at| *at <= now)?, id)));
        let due: BTreeSet<_> = due.collect();
        due.into_iter().take(limit).map(|(_, id)| self.automations[id].clone()).collect()
    }

    pub(super) fn assets(&self, job: JobId, before: Option<AssetId>, limit: usize) -> Vec<Asset> {
        self.assets.list(job, before, limit)
    }

    pub(super) fn asset(&self, id: AssetId) -> Option<Asset> {
        self.assets.one(id)
    }

    pub(super) fn asset_garbage(&mut self, limit: usize) -> Vec<String> {
        self.assets.garbage(self.clock.now().at, limit)
    }

    pub(super) fn has_expired(&mut self) -> bool {
        let now = self.clock.now().at;
        self.keys.values().any(|record| record.has_expired(now))
            || self.telemetry.iter().any(|line| line.has_expired(now))
            || self.workers.values().any(|worker| worker.has_expired(now))
            || self.sessions.values().any(|session| session.has_expired(now))
    }

    pub(super) fn session(&self, digest: Name) -> Option<Session> {
        self.sessions.get(&digest).cloned()
    }

    pub(super) fn workers(&self) -> Vec<WorkerRecord> {
        let mut workers: Vec<_> = self.workers.values().cloned().collect();
        workers.sort_by(|a, b| b.seen_at.cmp(&a.seen_at).then_with(|| a.name.cmp(&b.name)));
        workers.truncate(WORKERS_MAX);
        workers
    }

    pub(super) fn worker(&self, name: WorkerId) -> Option<WorkerRecord> {
        self.workers.get(&name).cloned()
    }

    pub(super) fn nodes(&self) -> Vec<NodeRecord> {
        let mut nodes: Vec<_> = self.nodes.values().cloned().collect();
        nodes.sort_by(|a, b| b.seen_at.cmp(&a.seen_at).then_with(|| a.id.cmp(&b.id)));
        nodes.truncate(NODES_MAX);
        nodes
    }

    pub(super) fn completed_between(
        &self,
        lifecycle: LifecycleName,
        after: Timestamp,
        after_job: JobId,
        before: Timestamp,
        limit: usize,
    ) -> Vec<CompletedJob> {
        let of = self.finished.values().filter(|job| job.spec.lifecycle.name == lifecycle);
        let completed = of.filter_map(|job| {
            let (id, lifecycle_version) = (job.id(), job.spec.lifecycle.version);
            Some(CompletedJob { id, lifecycle_version, completed_at: job.times.completed_at? })
        });
        let order = |job: &CompletedJob| (job.completed_at, job.id);
        let mut found: Vec<_> =
            completed.filter(|job| (after, after_job) < order(job) && job.completed_at < before).collect();
        found.sort_unstable_by_key(order);
        found.truncate(limit);
        found
    }

    pub(super) fn logs(&self, job: JobId, after: u64, limit: usize) -> Vec<LogLine> {
        let lines = self.logs.get(&job).map(Vec::as_slice).unwrap_or_default();
        lines.iter().filter(|line| after < line.n).take(limit).cloned().collect()
    }

    pub(super) fn telemetry(&self, job: JobId) -> Vec<Telemetry> {
        self.telemetry.iter().filter(|line| line.job_id == job).cloned().collect()
    }

    pub(super) fn dead_letters(&self, filter: DeadLetterFilter, page: Page) -> Vec<DeadLetter> {
        let older = |letter: &DeadLetter| page.before.is_none_or(|before| letter.job_id < before);
        let admits =
            |letter: &DeadLetter| self.find(letter.job_id).is_some_and(|job| filter.admits(letter, job));
        let matching = self.dead_letters.values().rev().filter(|letter| older(letter) && admits(letter));
        matching.take(page.limit).cloned().collect()
    }

    pub(super) fn account(&self, user: UserId) -> Account {
        self.accounts.get(&user).copied().unwrap_or_default()
    }

    pub(super) fn ledger(&self, user: UserId, after: u64, limit: usize) -> Vec<(u64, LedgerLine)> {
        let own = numbered(&self.ledger).filter(|(row, line)| after < *row && line.user_id == user);
        own.take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(super) fn accounts(&self, after: Option<UserId>, limit: usize) -> Vec<(UserId, Account)> {
        let later = self.accounts.iter().filter(|(user, _)| after.as_ref().is_none_or(|after| after < *user));
        later.take(limit).map(|(user, account)| (user.clone(), *account)).collect()
    }

    pub(super) fn ledger_before(&self, user: UserId, before: u64, limit: usize) -> Vec<(u64, LedgerLine)> {
        let own = numbered(&self.ledger).filter(|(row, line)| *row < before && line.user_id == user);
        own.rev().take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(super) fn audit_before(&self, before: u64, limit: usize) -> Vec<(u64, AuditLine)> {
        let earlier = numbered(&self.audit).filter(|(row, _)| *row < before).rev();
        earlier.take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(super) fn audit(&self, after: u64, limit: usize) -> Vec<(u64, AuditLine)> {
        let later = numbered(&self.audit).filter(|(row, _)| after < *row);
        later.take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(super) fn paused(&self) -> Vec<QueueName> {
        self.paused.iter().cloned().collect()
    }

    pub(super) fn lifecycles(&self) -> Vec<(LifecycleRef, String)> {
        self.lifecycles.iter().map(|(key, source)| (key.clone(), source.clone())).collect()
    }

    pub(super) fn scan(&self, after: Option<JobId>, limit: usize) -> Vec<Scanned> {
        let later = self.all().into_values().filter(|job| after.is_none_or(|after| after < job.id()));
        later.take(limit).map(|job| Scanned { id: job.id(), record: Ok(self.record(job)) }).collect()
    }

    fn record(&self, job: &Arc<Job>) -> Record {
        let lines = self.logs.get(&job.id()).map(Vec::as_slice).unwrap_or_default();
        Record {
            job: Arc::clone(job),
            events: self.history(job.id()),
            dead_letter: self.dead_letters.get(&job.id()).cloned(),
            ledger: self.ledger.iter().filter(|line| line.job_id == Some(job.id())).cloned().collect(),
            logs: (lines.len() as u64, lines.last().map_or(0, |line| line.n)),
        }
    }

    pub(super) fn scan_accounts(&self, after: Option<UserId>, limit: usize) -> Vec<AccountSums> {
        let users: BTreeSet<&UserId> =
            self.accounts.keys().chain(self.ledger.iter().map(|line| &line.user_id)).collect();
        let later =
            users.into_iter().filter(|user| after.as_ref().is_none_or(|after| after < *user)).take(limit);
        let sums = |user: &UserId| {
            let own = self.ledger.iter().filter(|line| line.user_id == *user);
            own.map(|line| (line.kind, line.amount)).collect()
        };
        later.map(|user| (user.clone(), self.account(user.clone()), sums(user))).collect()
    }

    pub(super) fn orphans(&self, limit: usize) -> Vec<String> {
        let events = self.histories.keys().map(|id| ("events", id));
        let logs = self.logs.keys().map(|id| ("logs", id));
        let letters = self.dead_letters.keys().map(|id| ("dead_letters", id));
        let assets = self.assets.jobs().map(|id| ("assets", id));
        let orphan =
            events.chain(logs).chain(letters).chain(assets).filter(|(_, id)| self.find(**id).is_none());
        orphan
            .map(|(table, id)| format!("{table} has rows of job {id}, which does not exist"))
            .take(limit)
            .collect()
    }
}
