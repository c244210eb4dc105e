//! The tables of the memory store: what a batch loads of them and writes to them.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::working_set::Upserted;

use super::assets::Assets;
use super::clock::MemoryClock;
use super::expiry::stays;
use crate::live::Live;
use crate::prelude::*;

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
    intake_records: BTreeMap<JobId, IntakeRecord>,
    statistics: BTreeMap<PeriodId, PeriodCounts>,
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
            intake_records: found(&self.intake_records, &reads.intake_records),
            statistics: found(&self.statistics, &reads.statistics),
            api_keys: if reads.api_keys { self.api_keys.clone() } else { BTreeMap::new() },
            paused: self.paused.clone(),
            ..WorkingSet::default()
        };
        self.assets.load(reads, &mut set);
        let amended = reads.unique_of.iter().filter_map(|id| self.find(*id));
        let records = amended.filter_map(|job| reads.record_of(job)).collect();
        set.keys.extend(found(&self.keys, &records));
        let mut wanted = reads.jobs.clone();
        wanted.extend(set.keys.values().flat_map(|record| record.targets.iter().map(|(job, _)| *job)));
        for (filter, claims) in &reads.claims {
            let candidates = self.live.claimable(filter, &self.paused, claims, now.at);
            wanted.extend(candidates.iter().map(|candidate| candidate.id));
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
        set.flow = self.live.flow_view(reads, &set, self.position);
        set
    }

    pub(super) fn write(&mut self, mut set: WorkingSet) {
        self.live.flow_committed(&set);
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
        for (id, record) in changes.intake.records {
            self.intake_records.entry(id).or_insert(record);
        }
        self.upsert(&set, changes.upserted);
        self.purge(&changes.jobs.purged);
        if let Some(now) = changes.prune {
            self.prune(now);
        }
    }

    fn find(&self, id: JobId) -> Option<&Arc<Job>> {
        self.live.get(id).or_else(|| self.finished.get(&id))
    }

    fn upsert(&mut self, set: &WorkingSet, rows: Upserted) {
        self.accounts.extend(rows.accounts.into_iter().map(|user| (user.clone(), set.accounts[&user])));
        self.dead_letters.extend(rows.dead_letters.into_iter().map(|id| (id, set.dead_letters[&id].clone())));
        self.keys.extend(rows.keys.into_iter().map(|id| (id, set.keys[&id].clone())));
        self.lifecycles
            .extend(rows.lifecycles.into_iter().map(|key| (key.clone(), set.lifecycles[&key].clone())));
        for id in rows.api_keys {
            let mut key = set.api_keys[&id].clone();
            key.last_used_at = self.api_keys.get(&id).and_then(|known| known.last_used_at);
            self.api_keys.insert(id, key);
        }
        for (digest, session) in rows.sessions {
            match session {
                Some(session) => self.sessions.insert(digest, session),
                None => self.sessions.remove(&digest),
            };
        }
        for (id, at) in rows.keys_used {
            if let Some(key) = self.api_keys.get_mut(&id) {
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        for (id, node) in rows.nodes {
            let (now, unseen) = (node.seen_at, Millis(limits::NODE_UNSEEN_MS_MAX));
            if !self.nodes.get(&id).is_some_and(|known| known.stopped) {
                self.nodes.insert(id, node);
            }
            self.nodes.retain(|_, node| now < node.seen_at + unseen);
        }
        self.statistics
            .extend(rows.statistics.into_iter().map(|id| (id.clone(), set.statistics[&id].clone())));
        for (name, mut worker) in rows.workers {
            let known = self.workers.get(&name);
            worker.connection = worker.connection.or(known.and_then(|known| known.connection));
            self.workers.insert(name, worker);
        }
        for id in rows.automations {
            match set.automations.get(&id) {
                Some(automation) => self.automations.insert(id, automation.clone()),
                None => self.automations.remove(&id),
            };
        }
        for (queue, paused) in rows.queues {
            if paused {
                self.paused.insert(queue)
            } else {
                self.paused.remove(&queue)
            };
        }
    }

    fn erase_users(&mut self, erased: &BTreeMap<UserId, UserId>) {
        self.accounts.retain(|user, _| !erased.contains_key(user));
        for line in &mut self.ledger {
            if let Some(alias) = erased.get(&line.user_id) {
                (line.user_id, line.reason) = (alias.clone(), None);
            }
        }
    }

    fn purge(&mut self, purged: &BTreeSet<JobId>) {
        self.assets.purge(purged);
        for id in purged {
            self.live.remove(*id);
            self.finished.remove(id);
            for position in self.histories.remove(id).unwrap_or_default() {
                self.journal.remove(&position);
            }
            self.logs.remove(id);
            self.dead_letters.remove(id);
        }
        self.telemetry.retain(|line| !purged.contains(&line.job_id));
    }

    fn prune_intake_records(&mut self, now: Timestamp) {
        let expired: Vec<JobId> = self
            .intake_records
            .values()
            .filter(|record| record.keep_until <= now)
            .map(|record| record.id)
            .collect();
        for id in expired {
            self.intake_records.remove(&id);
            if self.find(id).is_none() {
                for position in self.histories.remove(&id).unwrap_or_default() {
                    self.journal.remove(&position);
                }
            }
        }
    }

    fn prune(&mut self, now: Timestamp) {
        self.telemetry.retain(stays(now));
        let (mut key_stays, mut worker_stays, mut session_stays) = (stays(now), stays(now), stays(now));
        let mut period_stays = stays(now);
        self.statistics.retain(|id, _| period_stays(id));
        self.sessions.retain(|_, session| session_stays(session));
        self.keys.retain(|_, record| key_stays(record));
        self.workers.retain(|_, worker| worker_stays(worker));
        self.prune_intake_records(now);
    }
}
