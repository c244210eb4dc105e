//! What a batch has loaded and changed: loaded once by the store, changed in memory by `decide`, written once.
//!
//! It holds what [`Reads`] named and nothing else. A rule that needs more says so in `Reads::of`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::asset::Asset;
use crate::command::{Asked, ClaimFilter, Command, KeyId};
use crate::credit::{Account, LedgerLine};
use crate::dead_letter::DeadLetter;
use crate::decide::key;
use crate::event::{AuditLine, Event, LogLine, Telemetry};
use crate::id::{Fence, JobId, Name};
use crate::job::{Job, LifecycleRef};
use crate::node::NodeSeen;
use crate::order::{Order, OrderId, OrderKind};
use crate::time::Timestamp;
use crate::worker::WorkerSeen;

/// What a batch needs in memory.
///
/// A store also loads what the loaded things lead to: the jobs that key records name, the job that a loaded job
/// compensates, and the account of each loaded job that has a cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// These jobs.
    pub jobs: BTreeSet<JobId>,
    /// Ready jobs for these claims: the best of each filter, as many as all its claims together may take.
    pub claims: BTreeMap<ClaimFilter, usize>,
    /// These idempotency keys.
    pub keys: BTreeSet<KeyId>,
    /// These users' accounts.
    pub accounts: BTreeSet<Name>,
    /// These jobs' dead letters.
    pub dead_letters: BTreeSet<JobId>,
    /// These lifecycle files.
    pub lifecycles: BTreeSet<LifecycleRef>,
    /// All keys of callers.
    pub api_keys: bool,
    /// These jobs' assets.
    pub assets: BTreeSet<JobId>,
    /// These objects' promises to the garbage.
    pub garbage: BTreeSet<String>,
    /// These standing orders.
    pub orders: BTreeSet<OrderId>,
}

impl Reads {
    /// What these commands need.
    pub fn of(commands: &[Asked]) -> Self {
        let mut reads = Self::default();
        for asked in commands {
            reads.add(asked);
        }
        reads
    }

    fn add(&mut self, asked: &Asked) {
        self.jobs.extend(asked.command.job());
        self.keys.extend(key::of_verb(asked));
        match &asked.command {
            Command::Create(create) => {
                self.keys.extend(key::candidates(create));
                self.accounts.extend(create.user_id.clone());
            }
            Command::Claim(claim) => {
                *self.claims.entry(claim.filter.clone()).or_default() += claim.max as usize;
            }
            Command::Dismiss(job, _) | Command::Purge(job) => {
                self.dead_letters.insert(*job);
            }
            Command::Retry(retry) => {
                self.jobs.insert(retry.id);
            }
            Command::Grant(user, ..) => {
                self.accounts.insert(user.clone());
            }
            Command::Register(key, _) => {
                self.lifecycles.insert(key.clone());
            }
            Command::AddKey(_) | Command::RevokeKey(_) => self.api_keys = true,
            Command::Upload(upload) => {
                self.assets.insert(upload.job);
                self.garbage.insert(upload.storage_path.clone());
            }
            Command::AddAsset(new) => {
                self.assets.insert(new.job);
                self.garbage.extend(new.storage_path.clone().filter(|_| new.stored));
            }
            Command::AddSchedule(new) => self.order(OrderKind::Schedule, &new.id),
            Command::ChangeSchedule(id, _) => self.order(OrderKind::Schedule, id),
            Command::Fire(fire) => {
                self.order(OrderKind::Schedule, &fire.schedule);
                if let Some((_, Ok(create))) = &fire.occurrence {
                    self.accounts.extend(create.user_id.clone());
                }
            }
            Command::AddWebhook(new) => self.order(OrderKind::Webhook, &new.id),
            Command::ChangeWebhook(id, _) => self.order(OrderKind::Webhook, id),
            Command::Report(_)
            | Command::Heartbeat(_)
            | Command::Progress(..)
            | Command::Log(_)
            | Command::Cancel(_)
            | Command::DeadLetter(..)
            | Command::Signal(..)
            | Command::Disconnect(_)
            | Command::Pause(..)
            | Command::Seen(_)
            | Command::SeenNode(_)
            | Command::Seat(..)
            | Command::Sweep(_)
            | Command::ForgetGarbage(_)
            | Command::Prune => {}
        }
    }

    fn order(&mut self, kind: OrderKind, id: &Name) {
        self.orders.insert((kind, id.clone()));
    }
}

/// An idempotency key that was used, and what it led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The digest of its scope and itself.
    pub id: KeyId,
    /// The digest of the body that it came with; `None` where the body does not matter.
    pub fingerprint: Option<[u8; 32]>,
    /// The jobs that it led to, and for a claim their fences.
    pub targets: Vec<(JobId, Fence)>,
    /// When it was first used.
    pub created_at: Timestamp,
    /// When it is forgotten.
    pub expires_at: Timestamp,
}

/// What was loaded, as it is now.
#[derive(Clone, Debug, Default)]
pub struct WorkingSet {
    /// Loaded and created jobs.
    pub jobs: BTreeMap<JobId, Arc<Job>>,
    /// For each filter, ready jobs, best first.
    pub candidates: BTreeMap<ClaimFilter, Vec<JobId>>,
    /// Keys that were found.
    pub keys: BTreeMap<KeyId, KeyRecord>,
    /// Accounts that were found.
    pub accounts: BTreeMap<Name, Account>,
    /// All paused queues.
    pub paused: BTreeSet<Name>,
    /// Dead letters that were found.
    pub dead_letters: BTreeMap<JobId, DeadLetter>,
    /// Lifecycle files that were found.
    pub lifecycles: BTreeMap<LifecycleRef, String>,
    /// Keys of callers: all of them, if they were asked for.
    pub api_keys: BTreeMap<Name, ApiKey>,
    /// Assets of the jobs whose assets were asked for, in order.
    pub assets: BTreeMap<JobId, Vec<Asset>>,
    /// Promises to the garbage that were found: an object's path, and when it is deleted.
    pub garbage: BTreeMap<String, Timestamp>,
    /// Standing orders that were found.
    pub orders: BTreeMap<OrderId, Order>,
    /// What is to be written.
    pub changes: Changes,
}

/// What a batch changed. A store writes all of it in one commit, or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// New jobs.
    pub created: BTreeSet<JobId>,
    /// Jobs that were there and are different now.
    pub updated: BTreeSet<JobId>,
    /// Jobs to forget, with their events, logs, telemetry, assets and dead letter. Their objects are garbage.
    pub purged: BTreeSet<JobId>,
    /// In order.
    pub events: Vec<Event>,
    /// In order.
    pub telemetry: Vec<Telemetry>,
    /// In order.
    pub logs: Vec<(JobId, LogLine)>,
    /// In order.
    pub ledger: Vec<LedgerLine>,
    /// In order.
    pub audit: Vec<AuditLine>,
    /// Users whose accounts are different now.
    pub accounts: BTreeSet<Name>,
    /// Dead letters that are new or different now.
    pub dead_letters: BTreeSet<JobId>,
    /// Keys that are new or different now.
    pub keys: BTreeSet<KeyId>,
    /// Queues that were paused or resumed.
    pub queues: BTreeMap<Name, bool>,
    /// Lifecycle files that came into force.
    pub lifecycles: BTreeSet<LifecycleRef>,
    /// Keys of callers that are new or different now.
    pub api_keys: BTreeSet<Name>,
    /// Standing orders that are new or different now; those that are not in the set any more are to be forgotten.
    pub orders: BTreeSet<OrderId>,
    /// Workers that were heard, by name, each once.
    pub seen: Vec<WorkerSeen>,
    /// Nodes that were heard. Those that were not for [`crate::limits::NODE_UNHEARD_MS_MAX`] are then to be forgotten.
    pub nodes: BTreeMap<Name, NodeSeen>,
    /// Jobs whose assets up to now are discarded, and when. Their objects are garbage. Written before new assets are.
    pub discarded: BTreeMap<JobId, Timestamp>,
    /// New assets, in order. One that is not discarded already takes its object back from the garbage.
    pub assets: Vec<Asset>,
    /// Objects that are promised to the garbage, and when they are deleted. Written before anything takes one back.
    pub garbage: BTreeMap<String, Timestamp>,
    /// Promises that were kept.
    pub forgotten_garbage: BTreeSet<String>,
    /// What is past its time by then is to be forgotten, a bounded number at once: telemetry, keys, and workers that
    /// were not heard for [`crate::limits::WORKER_UNHEARD_MS_MAX`].
    pub prune: Option<Timestamp>,
}

impl Changes {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl WorkingSet {
    /// The job as it is now, if it is there.
    pub fn job(&self, id: JobId) -> Option<&Arc<Job>> {
        self.jobs.get(&id).filter(|_| !self.changes.purged.contains(&id))
    }

    /// The job, to be changed.
    pub(crate) fn job_mut(&mut self, id: JobId) -> &mut Job {
        if !self.changes.created.contains(&id) {
            self.changes.updated.insert(id);
        }
        Arc::make_mut(self.jobs.get_mut(&id).expect("a job is changed only after it was found"))
    }

    /// A new job, before its first event.
    pub(crate) fn insert(&mut self, job: Job) {
        self.changes.created.insert(job.id());
        self.jobs.insert(job.id(), Arc::new(job));
    }

    /// Records an event and folds it into its job.
    pub(crate) fn happen(&mut self, event: Event) {
        self.job_mut(event.job_id).evolve(&event);
        self.changes.events.push(event);
    }

    /// The account of a user; empty if there is none.
    pub fn account(&self, user: &Name) -> Account {
        self.accounts.get(user).copied().unwrap_or_default()
    }

    /// Writes an account and the line that explains it.
    pub(crate) fn move_credits(&mut self, account: Account, line: LedgerLine) {
        self.accounts.insert(line.user_id.clone(), account);
        self.changes.accounts.insert(line.user_id.clone());
        self.changes.ledger.push(line);
    }

    /// Remembers a key.
    pub(crate) fn remember(&mut self, record: KeyRecord) {
        self.changes.keys.insert(record.id);
        self.keys.insert(record.id, record);
    }

    /// Writes a caller's key.
    pub(crate) fn put_api_key(&mut self, key: ApiKey) {
        self.changes.api_keys.insert(key.id.clone());
        self.api_keys.insert(key.id.clone(), key);
    }

    /// Promises an object to the garbage, or puts the promise off.
    pub(crate) fn promise_garbage(&mut self, path: String, due: Timestamp) {
        self.garbage.insert(path.clone(), due);
        self.changes.garbage.insert(path, due);
    }

    /// Writes an asset; if its object is ours, it is garbage no more.
    pub(crate) fn add_asset(&mut self, asset: Asset) {
        if let Some(path) = asset.storage_path.as_ref().filter(|_| asset.stored) {
            self.garbage.remove(path);
        }
        self.assets.entry(asset.job_id).or_default().push(asset.clone());
        self.changes.assets.push(asset);
    }

    /// Discards every asset that a job has by now.
    pub(crate) fn discard_assets(&mut self, job: JobId, at: Timestamp) {
        self.changes.discarded.insert(job, at);
        let known = self.assets.get_mut(&job).into_iter().flatten();
        let new = self.changes.assets.iter_mut().filter(|asset| asset.job_id == job);
        for asset in known.chain(new) {
            asset.discarded_at.get_or_insert(at);
        }
    }

    /// Writes a standing order.
    pub(crate) fn put_order(&mut self, order: Order) {
        self.changes.orders.insert(order.id());
        self.orders.insert(order.id(), order);
    }

    /// Forgets a standing order.
    pub(crate) fn remove_order(&mut self, id: &OrderId) {
        self.changes.orders.insert(id.clone());
        self.orders.remove(id);
    }

    /// Writes a dead letter.
    pub(crate) fn put_dead_letter(&mut self, letter: DeadLetter) {
        self.changes.dead_letters.insert(letter.job_id);
        self.dead_letters.insert(letter.job_id, letter);
    }
}
