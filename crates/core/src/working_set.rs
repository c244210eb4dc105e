//! The working set of a batch: loaded by the store, changed in memory by `decide`, written in one commit.
//!
//! It holds what [`Reads`] names and nothing else. A rule that needs more adds it to `Reads::of`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::asset::Asset;
use crate::automation::{Automation, AutomationId, AutomationKind};
use crate::command::{Amend, ClaimFilter, Command, CommandEnvelope, Create, KeyId};
use crate::credit::{Account, LedgerLine};
use crate::dead_letter::DeadLetter;
use crate::decide::{key, unique};
use crate::event::{AuditLine, Event, LogLine, Telemetry};
use crate::flow::{
    BucketId, Candidate, Contribution, FlowKeys, FlowRecord, FlowRecordId, FlowView, ResourceUse, SequenceId,
};
use crate::id::{Fence, JobId, Name, QueueName, TypeName, UserId, WorkerId};
use crate::intake::{IntakePlace, IntakeRecord, IntakeRequest};
use crate::job::{Job, LifecycleRef};
use crate::node::NodeRecord;
use crate::schedule::ScheduleChange;
use crate::session::Session;
use crate::statistics::{PeriodCounts, PeriodId};
use crate::time::Timestamp;
use crate::worker::WorkerRecord;

/// What a batch needs in memory.
///
/// A store also loads what follows from it: the records of unique keys, the jobs that key records name, the job that a loaded job compensates, and
/// the account of each loaded job that has a cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    pub jobs: BTreeSet<JobId>,
    /// For each filter, how many jobs each of its claims may take, in order.
    pub claims: BTreeMap<ClaimFilter, Vec<u32>>,
    pub keys: BTreeSet<KeyId>,
    pub accounts: BTreeSet<UserId>,
    pub dead_letters: BTreeSet<JobId>,
    pub lifecycles: BTreeSet<LifecycleRef>,
    /// Whether all API keys are needed.
    pub api_keys: bool,
    /// Jobs whose assets are needed.
    pub assets: BTreeSet<JobId>,
    /// Storage paths whose garbage records are needed.
    pub garbage: BTreeSet<String>,
    pub automations: BTreeSet<AutomationId>,
    /// Jobs of which the record of the unique key is needed, if they have one.
    pub unique_of: BTreeSet<JobId>,
    /// Buckets that new or amended jobs will use. Those of loaded jobs are needed, too.
    pub buckets: BTreeSet<BucketId>,
    /// Sequences that new or amended jobs will join. Those of loaded jobs are needed, too.
    pub sequences: BTreeSet<SequenceId>,
    /// Rows of the intake that may still be there.
    pub intake: BTreeSet<IntakePlace>,
    /// Ids whose records of the intake are needed.
    pub intake_records: BTreeSet<JobId>,
    pub statistics: BTreeSet<PeriodId>,
}

impl Reads {
    pub fn of(commands: &[CommandEnvelope]) -> Self {
        let mut reads = Self::default();
        for envelope in commands {
            reads.add(envelope);
        }
        reads
    }

    fn add(&mut self, envelope: &CommandEnvelope) {
        self.jobs.extend(envelope.command.job());
        self.keys.extend(key::of_verb(envelope));
        self.keys.extend(key::of_verb_in_earlier_versions(envelope));
        match &envelope.command {
            Command::Create(create) => self.add_creation(create),
            Command::TakeIn(requests) => self.add_intake(requests),
            Command::Claim(claim) => self.claims.entry(claim.filter.clone()).or_default().push(claim.max),
            Command::DismissDeadLetter { job, .. } | Command::Purge(job) | Command::Delete { job, .. } => {
                self.dead_letters.insert(*job);
                self.unique_of.insert(*job);
            }
            Command::Retry(retry) => {
                self.jobs.insert(retry.id);
                self.unique_of.insert(retry.job);
            }
            Command::Amend(amend) => self.add_amendment(amend),
            Command::GrantCredits { user, .. } => self.accounts.extend([user.clone()]),
            Command::RegisterLifecycle { lifecycle, .. } => self.lifecycles.extend([lifecycle.clone()]),
            Command::AddKey(_) | Command::RotateKey(_) | Command::RevokeKey(_) => self.api_keys = true,
            Command::AddSchedule(new) => self.automation(AutomationKind::Schedule, &new.id),
            Command::ChangeSchedule { id, change } => self.add_schedule_change(id, change),
            Command::Fire(fire) => {
                self.automation(AutomationKind::Schedule, &fire.schedule);
                if let Some((_, Ok(create))) = &fire.occurrence {
                    self.add_creation(create);
                }
            }
            Command::AddWebhook(new) => self.automation(AutomationKind::Webhook, &new.id),
            Command::ChangeWebhook { id, .. } => self.automation(AutomationKind::Webhook, id),
            Command::AddStatistics(report) => self.statistics.extend(report.periods().map(|(id, _)| id)),
            Command::Upload(_)
            | Command::AddAsset(_)
            | Command::Erase(_)
            | Command::DeleteErased { .. }
            | Command::FinishErasure(_) => self.add_assets_and_erasures(&envelope.command),
            Command::Report(_)
            | Command::Heartbeat(_)
            | Command::Progress { .. }
            | Command::Log(_)
            | Command::Cancel(_)
            | Command::DeadLetter { .. }
            | Command::Signal { .. }
            | Command::Disconnect(_)
            | Command::PauseQueue { .. }
            | Command::DeclareFlow(_)
            | Command::ChangeResource { .. }
            | Command::ResumeSequence(_)
            | Command::RecordConfiguration(_)
            | Command::KeysUsed(_)
            | Command::BeginSession(_)
            | Command::EndSession(_)
            | Command::WorkersSeen(_)
            | Command::NodeHeartbeat(_)
            | Command::BindWorkerConnection { .. }
            | Command::KeyRequest { .. }
            | Command::Sweep(_)
            | Command::ForgetGarbage(_)
            | Command::Prune => {}
        }
    }

    fn add_schedule_change(&mut self, id: &Name, change: &ScheduleChange) {
        self.automation(AutomationKind::Schedule, id);
        if let ScheduleChange::Run(run) = change {
            self.jobs.extend(run.last_job);
            self.add_creation(&run.job);
        }
    }

    fn add_creation(&mut self, create: &Create) {
        self.keys.extend(key::candidates(create));
        self.keys.extend(unique_record(&create.job_type, &create.flow));
        self.accounts.extend(create.user_id.clone());
        self.add_flow(&create.job_type, &create.flow);
    }

    fn add_flow(&mut self, job_type: &TypeName, flow: &FlowKeys) {
        self.buckets.extend(flow.resources.iter().map(ResourceUse::bucket));
        self.sequences.extend(flow.sequence_of(job_type));
    }

    fn add_intake(&mut self, requests: &[IntakeRequest]) {
        for request in requests {
            self.intake.extend(request.place);
            if request.place.is_none() {
                self.jobs.insert(request.job);
                self.intake_records.insert(request.receipt);
            }
            if let Ok(envelope) = request.envelope() {
                self.add(&envelope);
            }
        }
    }

    fn add_amendment(&mut self, amend: &Amend) {
        self.unique_of.insert(amend.job);
        let flow = amend.flow.as_ref();
        if let Some(flow) = flow {
            self.add_flow(&amend.job_type, flow);
        }
        self.keys.extend(flow.and_then(|flow| unique_record(&amend.job_type, flow)));
    }

    fn add_assets_and_erasures(&mut self, command: &Command) {
        match command {
            Command::Upload(upload) => {
                self.assets.insert(upload.job);
                self.garbage.insert(upload.storage_path.clone());
            }
            Command::AddAsset(new) => {
                self.assets.insert(new.job);
                self.garbage.extend(new.storage_path.clone().filter(|_| new.stored));
            }
            Command::Erase(erase) => self.erasure(&erase.user),
            Command::DeleteErased { user, job } => {
                self.erasure(user);
                self.dead_letters.insert(*job);
                self.unique_of.insert(*job);
            }
            Command::FinishErasure(user) => {
                self.erasure(user);
                self.accounts.insert(user.clone());
            }
            _ => {}
        }
    }

    fn erasure(&mut self, user: &UserId) {
        self.automation(AutomationKind::Erasure, &user.as_str().into());
    }

    fn automation(&mut self, kind: AutomationKind, id: &Name) {
        self.automations.insert((kind, id.clone()));
    }
}

/// The record of a unique key, if a job has one.
fn unique_record(job_type: &TypeName, flow: &FlowKeys) -> Option<KeyId> {
    flow.unique.as_ref().map(|key| unique::record_id(job_type, key))
}

/// The record of a used idempotency key, or of the jobs that have a unique key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub id: KeyId,
    /// Digest of the request body; `None` where the body does not matter.
    pub fingerprint: Option<[u8; 32]>,
    /// The jobs of the first answer; for a claim with their fences.
    pub targets: Vec<(JobId, Fence)>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The loaded rows in their present state, and what is to be written.
#[derive(Clone, Debug, Default)]
pub struct WorkingSet {
    /// Loaded and created jobs.
    pub jobs: BTreeMap<JobId, Arc<Job>>,
    /// For each filter, ready jobs that flow control admits, in claim order.
    pub candidates: BTreeMap<ClaimFilter, Vec<Candidate>>,
    /// Filters with more ready jobs than those, which were left out because the others have many bytes.
    pub cut_candidates: BTreeSet<ClaimFilter>,
    /// Filters with a candidate that turned out not to be claimable, so that the store may have another job in its place.
    pub passed_over: BTreeSet<ClaimFilter>,
    pub keys: BTreeMap<KeyId, KeyRecord>,
    pub accounts: BTreeMap<UserId, Account>,
    /// All paused queues.
    pub paused: BTreeSet<QueueName>,
    pub dead_letters: BTreeMap<JobId, DeadLetter>,
    pub lifecycles: BTreeMap<LifecycleRef, String>,
    /// All API keys, if `Reads` asked for them.
    pub api_keys: BTreeMap<Name, ApiKey>,
    /// In order of creation.
    pub assets: BTreeMap<JobId, Vec<Asset>>,
    /// Objects to delete, by storage path, and when.
    pub garbage: BTreeMap<String, Timestamp>,
    pub automations: BTreeMap<AutomationId, Automation>,
    /// Rows that are still in the intake.
    pub intake: BTreeSet<IntakePlace>,
    pub intake_records: BTreeMap<JobId, IntakeRecord>,
    pub statistics: BTreeMap<PeriodId, PeriodCounts>,
    /// When the store was last restored from a backup; 0 if never. Leases of jobs created before then have fences from this
    /// number on: smaller ones may have been granted after the backup, to workers that still run.
    pub restored_at: Timestamp,
    pub flow: FlowView,
    pub changes: Changes,
}

/// What a batch changed. A store writes all of it in one commit, or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub jobs: JobChanges,
    pub appended: Appended,
    pub upserted: Upserted,
    pub assets: AssetChanges,
    pub intake: IntakeChanges,
    /// Erased users and their aliases. The account of the user is deleted, and its ledger lines get the alias and lose their
    /// reasons. Written before accounts and ledger lines.
    pub erased_users: BTreeMap<UserId, UserId>,
    /// Deletes what expired before this time, a bounded number of rows at once: telemetry, idempotency keys, sessions,
    /// statistics, and workers not seen for [`crate::limits::WORKER_UNSEEN_MS_MAX`]. PostgreSQL also deletes
    /// old changes of its journal.
    pub prune: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobChanges {
    pub created: BTreeSet<JobId>,
    pub updated: BTreeSet<JobId>,
    /// Deleted with their events, logs, telemetry, assets and dead letter. Their objects become garbage.
    pub purged: BTreeSet<JobId>,
}

/// Rows that are only ever appended, each list in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Appended {
    pub events: Vec<Event>,
    pub telemetry: Vec<Telemetry>,
    pub logs: Vec<(JobId, LogLine)>,
    pub ledger: Vec<LedgerLine>,
    pub audit: Vec<AuditLine>,
}

/// Rows that are inserted or replaced. Sets name rows of the working set; maps hold the rows themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Upserted {
    pub accounts: BTreeSet<UserId>,
    pub dead_letters: BTreeSet<JobId>,
    pub keys: BTreeSet<KeyId>,
    /// Whether the queue is paused.
    pub queues: BTreeMap<QueueName, bool>,
    pub lifecycles: BTreeSet<LifecycleRef>,
    pub api_keys: BTreeSet<Name>,
    /// When keys were last used. Keys that do not exist are skipped.
    pub keys_used: BTreeMap<Name, Timestamp>,
    /// By the digest of their ids; `None` is deleted.
    pub sessions: BTreeMap<Name, Option<Session>>,
    /// Those that are no longer in the working set are deleted.
    pub automations: BTreeSet<AutomationId>,
    /// Records of flow control; `None` is deleted.
    pub flow: BTreeMap<FlowRecordId, Option<FlowRecord>>,
    pub workers: BTreeMap<WorkerId, WorkerRecord>,
    /// Nodes not seen for [`crate::limits::NODE_UNSEEN_MS_MAX`] are deleted in the same commit.
    pub nodes: BTreeMap<Name, NodeRecord>,
    pub statistics: BTreeSet<PeriodId>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssetChanges {
    /// Jobs whose assets up to now are discarded, and when. Their objects become garbage. Written before `added`.
    pub discarded: BTreeMap<JobId, Timestamp>,
    /// In order. An asset that is not already discarded removes its object from the garbage.
    pub added: Vec<Asset>,
    /// Objects that become garbage, and when they are deleted. Written before `added`.
    pub garbage: BTreeMap<String, Timestamp>,
    /// Storage paths whose objects have been deleted.
    pub forgotten: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntakeChanges {
    /// Rows that are removed from the intake.
    pub taken: BTreeSet<IntakePlace>,
    /// Inserted, unless the id has a record.
    pub records: BTreeMap<JobId, IntakeRecord>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Reads {
    /// The record of the unique key of a loaded job, if it is needed.
    pub fn record_of(&self, job: &Job) -> Option<KeyId> {
        if self.unique_of.contains(&job.id()) { unique_record(&job.spec.job_type, job.flow()) } else { None }
    }
}

impl WorkingSet {
    pub fn job(&self, id: JobId) -> Option<&Arc<Job>> {
        self.jobs.get(&id).filter(|_| !self.changes.jobs.purged.contains(&id))
    }

    /// Whether the batch created a job other than a compensation. A store that is out of disk space refuses such a
    /// batch and still writes the others, so that running work can finish. See also [`Command::adds_work`].
    pub fn adds_work(&self) -> bool {
        self.changes.jobs.created.iter().any(|id| self.jobs[id].spec.links.compensates.is_none())
    }

    /// Keeps a record of a request that created no job. The first record of an id stays.
    pub(crate) fn put_intake_record(&mut self, record: IntakeRecord) {
        if let Entry::Vacant(vacant) = self.intake_records.entry(record.id) {
            self.changes.intake.records.insert(record.id, vacant.insert(record).clone());
        }
    }

    pub(crate) fn job_mut(&mut self, id: JobId) -> &mut Job {
        if !self.changes.jobs.created.contains(&id) {
            self.changes.jobs.updated.insert(id);
        }
        Arc::make_mut(self.jobs.get_mut(&id).expect("a job is changed only after it was found"))
    }

    /// Adds a new job, before its first event.
    pub(crate) fn insert(&mut self, job: Job) {
        self.changes.jobs.created.insert(job.id());
        self.jobs.insert(job.id(), Arc::new(job));
    }

    /// Appends an event and folds it into its job.
    pub(crate) fn record(&mut self, event: Event) {
        let job = self.job_mut(event.job_id);
        let before = Contribution::of(job);
        job.evolve(&event);
        let after = Contribution::of(job);
        self.flow.moved(before, after);
        self.changes.appended.events.push(event);
    }

    /// The account of a user; empty if there is none.
    pub fn account(&self, user: &UserId) -> Account {
        self.accounts.get(user).copied().unwrap_or_default()
    }

    /// Moves credits and appends the ledger line; `None`, without a change, if the account would be overdrawn.
    pub(crate) fn move_credits(&mut self, line: LedgerLine) -> Option<Account> {
        let account = self.account(&line.user_id).moved(line.kind, line.amount)?;
        self.accounts.insert(line.user_id.clone(), account);
        self.changes.upserted.accounts.insert(line.user_id.clone());
        self.changes.appended.ledger.push(line);
        Some(account)
    }

    /// Moves the account and the ledger of a user to an alias. Reasons of grants may contain names.
    pub(crate) fn rename_account(&mut self, user: &UserId, alias: &UserId) {
        let Some(account) = self.accounts.remove(user) else { return };
        self.accounts.insert(alias.clone(), account);
        self.changes.upserted.accounts.remove(user);
        self.changes.upserted.accounts.insert(alias.clone());
        for line in self.changes.appended.ledger.iter_mut().filter(|line| line.user_id == *user) {
            line.user_id = alias.clone();
            line.reason = None;
        }
        self.changes.erased_users.insert(user.clone(), alias.clone());
    }

    /// Writes a record of flow control, which is in force for the rest of the batch.
    pub(crate) fn put_flow(&mut self, record: FlowRecord) {
        let id = record.id();
        if !matches!(record, FlowRecord::Level(..)) {
            Arc::make_mut(&mut self.flow.state).apply(&id, Some(&record));
        }
        self.changes.upserted.flow.insert(id, Some(record));
    }

    pub(crate) fn remove_flow(&mut self, id: FlowRecordId) {
        Arc::make_mut(&mut self.flow.state).apply(&id, None);
        self.changes.upserted.flow.insert(id, None);
    }

    pub(crate) fn put_key(&mut self, record: KeyRecord) {
        self.changes.upserted.keys.insert(record.id);
        self.keys.insert(record.id, record);
    }

    pub(crate) fn put_api_key(&mut self, key: ApiKey) {
        self.changes.upserted.api_keys.insert(key.id.clone());
        self.api_keys.insert(key.id.clone(), key);
    }

    /// Marks an object as garbage, or postpones its deletion.
    pub(crate) fn put_garbage(&mut self, path: String, due: Timestamp) {
        self.garbage.insert(path.clone(), due);
        self.changes.assets.garbage.insert(path, due);
    }

    /// Adds an asset; its stored object is no longer garbage.
    pub(crate) fn add_asset(&mut self, asset: Asset) {
        if let Some(path) = asset.storage_path.as_ref().filter(|_| asset.stored) {
            self.garbage.remove(path);
        }
        self.assets.entry(asset.job_id).or_default().push(asset.clone());
        self.changes.assets.added.push(asset);
    }

    /// Discards every asset that a job has up to now.
    pub(crate) fn discard_assets(&mut self, job: JobId, at: Timestamp) {
        self.changes.assets.discarded.insert(job, at);
        let known = self.assets.get_mut(&job).into_iter().flatten();
        let new = self.changes.assets.added.iter_mut().filter(|asset| asset.job_id == job);
        for asset in known.chain(new) {
            asset.discarded_at.get_or_insert(at);
        }
    }

    pub(crate) fn put_automation(&mut self, automation: Automation) {
        self.changes.upserted.automations.insert(automation.id());
        self.automations.insert(automation.id(), automation);
    }

    pub(crate) fn remove_automation(&mut self, id: &AutomationId) {
        self.changes.upserted.automations.insert(id.clone());
        self.automations.remove(id);
    }

    /// Adds to a period, which begins empty.
    pub(crate) fn add_statistics(&mut self, id: PeriodId, counts: &PeriodCounts) {
        self.statistics.entry(id.clone()).or_default().add(counts);
        self.changes.upserted.statistics.insert(id);
    }

    pub(crate) fn put_dead_letter(&mut self, letter: DeadLetter) {
        self.changes.upserted.dead_letters.insert(letter.job_id);
        self.dead_letters.insert(letter.job_id, letter);
    }
}
