//! The reads of the memory store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::job::Output;
use tenure_core::json::Json;
use tenure_core::limits::PAGE_BYTES_MAX;

use super::Tables;
use crate::memory::expiry::Expiring as _;
use crate::pages::PageSize;
use crate::prelude::*;
use crate::*;

/// Rows with their numbers, from 1.
fn numbered<T>(rows: &[T]) -> impl DoubleEndedIterator<Item = (u64, &T)> {
    rows.iter().enumerate().map(|(index, row)| (index as u64 + 1, row))
}

/// The first jobs, as many as a page may have.
fn fitting(found: Vec<(JobId, Option<Arc<Job>>)>) -> Vec<Arc<Job>> {
    let mut size = PageSize::new(found.len());
    found.into_iter().filter_map(|(_, job)| job).take_while(|job| size.take(job.bytes())).collect()
}

/// A job without what may be large.
fn without_texts(job: &Job) -> Arc<Job> {
    let spec = Spec { payload: Json::null(), ..Spec::clone(&job.spec) };
    let output = Output {
        progress: job.output.progress.clone(),
        log_count: job.output.log_count,
        ..Output::default()
    };
    Arc::new(Job { spec: Arc::new(spec), output, amended: None, ..job.clone() })
}

#[allow(clippy::needless_pass_by_value, reason = "the reads of a store take owned values")]
impl Tables {
    pub(in crate::memory) fn job(&self, id: JobId) -> Option<Arc<Job>> {
        self.find(id).cloned()
    }

    /// All events of a job, in the order of the journal.
    fn events_of(&self, id: JobId) -> impl Iterator<Item = &Event> {
        let positions = self.histories.get(&id).map(Vec::as_slice).unwrap_or_default();
        positions.iter().map(|position| &self.journal[position])
    }

    pub(in crate::memory) fn history(&self, id: JobId, after: u64, limit: usize) -> Vec<Event> {
        let is_later = |event: &&Event| event.seq.is_some_and(|seq| u64::from(seq) > after);
        self.events_of(id).filter(is_later).take(limit).cloned().collect()
    }

    pub(in crate::memory) fn notes(&self, id: JobId, skipped: u64, limit: usize) -> Vec<Event> {
        let notes = self.events_of(id).filter(|event| event.seq.is_none());
        notes.skip(skipped as usize).take(limit).cloned().collect()
    }

    pub(in crate::memory) fn journal_end(&self) -> Position {
        Position(self.position)
    }

    pub(in crate::memory) fn events(&self, after: Position, limit: usize) -> Vec<JournalEntry> {
        let later = self.journal.range(Position(after.0 + 1)..).take(limit);
        later.map(|(position, event)| self.journaled(*position, event)).collect()
    }

    pub(in crate::memory) fn intake_record(&self, id: JobId) -> Option<IntakeRecord> {
        self.intake_records.get(&id).cloned()
    }

    pub(in crate::memory) fn refusals(
        &self,
        user: Option<UserId>,
        before: Option<JobId>,
        limit: usize,
    ) -> Vec<IntakeRecord> {
        let is_wanted = |record: &&IntakeRecord| {
            record.is_refused_job()
                && (user.is_none() || record.user_id == user)
                && before.is_none_or(|before| record.id < before)
        };
        self.intake_records.values().rev().filter(is_wanted).take(limit).cloned().collect()
    }

    /// The entry of an event without a job, which has a record of the intake.
    fn refused(&self, position: Position, event: &Event) -> JournalEntry {
        let record = self.intake_records.get(&event.job_id).expect("an event has a job or a record");
        let links = Links { correlation_id: record.correlation_id.clone(), ..Links::default() };
        JournalEntry {
            position,
            event: event.clone(),
            lifecycle: "".into(),
            job_type: record.job_type.clone(),
            queue: record.queue.clone().unwrap_or_else(|| "".into()),
            user_id: record.user_id.clone(),
            correlation_id: links.correlation_id(event.job_id),
            trace_id: links.trace_id(event.job_id),
        }
    }

    fn journaled(&self, position: Position, event: &Event) -> JournalEntry {
        let Some(job) = self.find(event.job_id) else { return self.refused(position, event) };
        let spec = &job.spec;
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

    pub(in crate::memory) fn list(&self, filter: JobFilter, page: Page) -> Vec<Arc<Job>> {
        let older = |id: JobId| page.before.is_none_or(|before| id < before);
        let all = self.all();
        let matching = all.values().rev().filter(|job| older(job.id()) && filter.admits(job));
        matching.take(page.limit).map(|job| Arc::clone(job)).collect()
    }

    pub(in crate::memory) fn nth_older(&self, before: Option<JobId>, jobs: usize) -> Option<JobId> {
        let older = |id: &&JobId| before.is_none_or(|before| **id < before);
        self.all().keys().rev().filter(older).nth(jobs - 1).copied()
    }

    pub(in crate::memory) fn counts(&self) -> Vec<Count> {
        let mut counts = BTreeMap::<_, u64>::new();
        for job in self.all().into_values() {
            *counts.entry(live::count_key(job)).or_default() += 1;
        }
        live::counts(counts.into_iter())
    }

    pub(in crate::memory) fn gauges(&mut self) -> Gauges {
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

    pub(in crate::memory) fn waiting(&self, after: Option<JobId>, limit: usize) -> Vec<Arc<Job>> {
        fitting(self.live.waiting(after, limit))
    }

    pub(in crate::memory) fn leased(
        &self,
        worker: Option<WorkerId>,
        after: Option<JobId>,
        limit: usize,
    ) -> Vec<Arc<Job>> {
        fitting(self.live.leased(worker.as_ref(), after, limit))
    }

    pub(in crate::memory) fn due(&mut self, limit: usize) -> DueJobs {
        self.live.due(self.clock.now().running(), limit)
    }

    pub(in crate::memory) fn ready_jobs(
        &mut self,
        awaited: Vec<AwaitedJobs>,
        limit: usize,
    ) -> Vec<ReadyJobs> {
        self.live.ready_jobs(&awaited, &self.paused, limit, self.clock.now().at)
    }

    pub(in crate::memory) fn resources(&mut self, filter: ResourceFilter) -> Vec<ResourceReport> {
        self.live.resources(&filter, self.clock.now().at)
    }

    pub(in crate::memory) fn sequences(&self, filter: SequenceFilter) -> Vec<SequenceReport> {
        self.live.sequences(&filter)
    }

    pub(in crate::memory) fn waits(&mut self, id: JobId) -> Vec<WaitReport> {
        let now = self.clock.now().at;
        let job = self.find(id).cloned();
        job.map(|job| self.live.waits(&job, now)).unwrap_or_default()
    }

    pub(in crate::memory) fn finished(&self, since: Timestamp, limit: usize) -> Vec<Arc<Job>> {
        let late = self.finished.values();
        let late = late.filter_map(|job| Some((job.times.completed_at.filter(|at| since <= *at)?, job.id())));
        let late: BTreeSet<_> = late.collect();
        late.into_iter().rev().take(limit).map(|(_, id)| without_texts(&self.finished[&id])).collect()
    }

    pub(in crate::memory) fn api_keys(&self) -> Vec<ApiKey> {
        self.api_keys.values().cloned().collect()
    }

    pub(in crate::memory) fn automations(&self, kind: AutomationKind) -> Vec<Automation> {
        let of_kind = self.automations.iter().filter(|((known, _), _)| *known == kind);
        of_kind.take(limits::AUTOMATIONS_MAX).map(|(_, automation)| automation.clone()).collect()
    }

    pub(in crate::memory) fn due_automations(
        &mut self,
        kind: AutomationKind,
        limit: usize,
    ) -> Vec<Automation> {
        let now = self.clock.now().at;
        let due = self.automations.iter().filter(|((known, _), _)| *known == kind);
        let due = due.filter_map(|(id, automation)| Some((automation.due_at().filter(|at| *at <= now)?, id)));
        let due: BTreeSet<_> = due.collect();
        due.into_iter().take(limit).map(|(_, id)| self.automations[id].clone()).collect()
    }

    pub(in crate::memory) fn assets(&self, job: JobId, before: Option<AssetId>, limit: usize) -> Vec<Asset> {
        self.assets.list(job, before, limit)
    }

    pub(in crate::memory) fn asset(&self, id: AssetId) -> Option<Asset> {
        self.assets.one(id)
    }

    pub(in crate::memory) fn asset_garbage(&mut self, limit: usize) -> Vec<String> {
        self.assets.garbage(self.clock.now().at, limit)
    }

    pub(in crate::memory) fn has_expired(&mut self) -> bool {
        let now = self.clock.now().at;
        self.keys.values().any(|record| record.has_expired(now))
            || self.telemetry.iter().any(|line| line.has_expired(now))
            || self.workers.values().any(|worker| worker.has_expired(now))
            || self.sessions.values().any(|session| session.has_expired(now))
            || self.intake_records.values().any(|record| record.keep_until <= now)
            || self.statistics.keys().any(|id| id.has_expired(now))
    }

    pub(in crate::memory) fn session(&self, digest: Name) -> Option<Session> {
        self.sessions.get(&digest).cloned()
    }

    pub(in crate::memory) fn workers(&self) -> Vec<WorkerRecord> {
        let mut workers: Vec<_> = self.workers.values().cloned().collect();
        workers.sort_by(|a, b| b.seen_at.cmp(&a.seen_at).then_with(|| a.name.cmp(&b.name)));
        workers.truncate(WORKERS_MAX);
        workers
    }

    pub(in crate::memory) fn worker(&self, name: WorkerId) -> Option<WorkerRecord> {
        self.workers.get(&name).cloned()
    }

    pub(in crate::memory) fn nodes(&self) -> Vec<NodeRecord> {
        let mut nodes: Vec<_> = self.nodes.values().cloned().collect();
        nodes.sort_by(|a, b| b.seen_at.cmp(&a.seen_at).then_with(|| a.id.cmp(&b.id)));
        nodes.truncate(NODES_MAX);
        nodes
    }

    pub(in crate::memory) fn statistics(
        &self,
        resolution: Resolution,
        series: Series,
        from: Timestamp,
        before: Timestamp,
    ) -> Vec<(Timestamp, PeriodCounts)> {
        let id = |start| PeriodId { resolution, series: series.clone(), start };
        let found = self.statistics.range(id(from)..id(before.max(from)));
        found.map(|(id, counts)| (id.start, counts.clone())).collect()
    }

    pub(in crate::memory) fn completed_between(
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

    pub(in crate::memory) fn logs(&self, job: JobId, after: u64, limit: usize) -> Vec<LogLine> {
        let lines = self.logs.get(&job).map(Vec::as_slice).unwrap_or_default();
        lines.iter().filter(|line| after < line.n).take(limit).cloned().collect()
    }

    pub(in crate::memory) fn telemetry(&self, job: JobId, skipped: u64, limit: usize) -> Vec<Telemetry> {
        let lines = self.telemetry.iter().filter(|line| line.job_id == job);
        lines.skip(skipped as usize).take(limit).cloned().collect()
    }

    pub(in crate::memory) fn last_telemetry(&self, job: JobId, limit: usize) -> Vec<Telemetry> {
        self.telemetry.iter().rev().filter(|line| line.job_id == job).take(limit).cloned().collect()
    }

    pub(in crate::memory) fn dead_letters(&self, filter: DeadLetterFilter, page: Page) -> Vec<DeadLetter> {
        let older = |letter: &DeadLetter| page.before.is_none_or(|before| letter.job_id < before);
        let matching = self.dead_letters.values().rev().filter(|letter| older(letter)).filter_map(|letter| {
            let job = self.find(letter.job_id).filter(|job| filter.admits(letter, job))?;
            Some(DeadLetter { job_type: Some(job.spec.job_type.clone()), ..letter.clone() })
        });
        matching.take(page.limit).collect()
    }

    pub(in crate::memory) fn account(&self, user: UserId) -> Account {
        self.accounts.get(&user).copied().unwrap_or_default()
    }

    pub(in crate::memory) fn ledger(&self, user: UserId, after: u64, limit: usize) -> Vec<(u64, LedgerLine)> {
        let own = numbered(&self.ledger).filter(|(row, line)| after < *row && line.user_id == user);
        own.take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(in crate::memory) fn accounts(&self, after: Option<UserId>, limit: usize) -> Vec<(UserId, Account)> {
        let later = self.accounts.iter().filter(|(user, _)| after.as_ref().is_none_or(|after| after < *user));
        later.take(limit).map(|(user, account)| (user.clone(), *account)).collect()
    }

    pub(in crate::memory) fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> Vec<(u64, LedgerLine)> {
        let own = numbered(&self.ledger).filter(|(row, line)| *row < before && line.user_id == user);
        own.rev().take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(in crate::memory) fn audit_before(&self, before: u64, limit: usize) -> Vec<(u64, AuditLine)> {
        let earlier = numbered(&self.audit).filter(|(row, _)| *row < before).rev();
        earlier.take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(in crate::memory) fn audit_without_job(&self, before: u64, limit: usize) -> Vec<(u64, AuditLine)> {
        let earlier =
            numbered(&self.audit).filter(|(row, line)| *row < before && line.job_id.is_none()).rev();
        earlier.take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(in crate::memory) fn audit(&self, after: u64, limit: usize) -> Vec<(u64, AuditLine)> {
        let later = numbered(&self.audit).filter(|(row, _)| after < *row);
        later.take(limit).map(|(row, line)| (row, line.clone())).collect()
    }

    pub(in crate::memory) fn paused(&self) -> Vec<QueueName> {
        self.paused.iter().cloned().collect()
    }

    pub(in crate::memory) fn lifecycles(&self) -> Vec<(LifecycleRef, String)> {
        self.lifecycles.iter().map(|(key, source)| (key.clone(), source.clone())).collect()
    }

    pub(in crate::memory) fn scan(&self, after: Option<JobId>, limit: usize) -> Vec<Scanned> {
        let later = self.all().into_values().filter(|job| after.is_none_or(|after| after < job.id()));
        let records = later.take(limit).map(|job| self.record(job));
        let mut bytes = 0;
        let fits = |record: &Record| {
            let fits = bytes < PAGE_BYTES_MAX;
            bytes += record.bytes();
            fits
        };
        records.take_while(fits).map(|record| Scanned { id: record.job.id(), record: Ok(record) }).collect()
    }

    fn record(&self, job: &Arc<Job>) -> Record {
        let lines = self.logs.get(&job.id()).map(Vec::as_slice).unwrap_or_default();
        let mut events: Vec<Event> = self.events_of(job.id()).cloned().collect();
        events.sort_by_key(|event| event.seq.unwrap_or(u32::MAX));
        Record {
            job: Arc::clone(job),
            events,
            dead_letter: self.dead_letters.get(&job.id()).cloned(),
            ledger: self.ledger.iter().filter(|line| line.job_id == Some(job.id())).cloned().collect(),
            logs: (lines.len() as u64, lines.last().map_or(0, |line| line.n)),
        }
    }

    pub(in crate::memory) fn scan_accounts(&self, after: Option<UserId>, limit: usize) -> Vec<AccountSums> {
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

    pub(in crate::memory) fn orphans(&self, limit: usize) -> Vec<String> {
        let events = self.histories.keys().filter(|id| !self.intake_records.contains_key(id));
        let events = events.map(|id| ("events", id));
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
