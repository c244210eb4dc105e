//! The rules. What Tenure permits and refuses is decided below this module and nowhere else: not in SQL, not in a
//! handler, not in an SDK.
//!
//! A batch is decided command by command on one working set. For each: the clock of its job first (law 9), then the
//! key under which it may be a repeat (law 7), then the command itself. What is refused has changed nothing.

mod api_key;
mod asset;
mod cancel;
mod claim;
mod clock;
mod consequences;
mod create;
mod heartbeat;
pub(crate) mod key;
mod lease;
mod operate;
mod output;
mod replay;
mod report;
mod retry;
mod schedule;
mod transition;
mod webhook;

use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::asset::Asset;
use crate::command::{Asked, Command};
use crate::credit::Account;
use crate::id::{JobId, Name};
use crate::job::{CancelMode, Job, Lease};
use crate::job_type::{Catalog, JobType};
use crate::lifecycle::{Lifecycle, Policy, Timeout, Trigger};
use crate::order::Order;
use crate::refusal::Refusal;
use crate::time::{Deadline, Now};
use crate::working_set::WorkingSet;

/// What a command comes to.
pub type Answer = Result<Done, Refusal>;

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// The job as it is now.
    Job {
        /// As it is now.
        job: Arc<Job>,
        /// The command had been done before; nothing changed.
        replayed: bool,
        /// It was lawful and had no effect: progress outside an active state.
        ignored: bool,
    },
    /// The jobs that were claimed.
    Claimed {
        /// Each with its lease.
        jobs: Vec<Arc<Job>>,
        /// The request had been answered before; nothing changed.
        replayed: bool,
    },
    /// A heartbeat was heard.
    Beat {
        /// As it is now.
        lease: Lease,
        /// What the worker must be told.
        cancel: Option<CancelMode>,
    },
    /// How many log lines there are now.
    Logged(u64),
    /// The account as it is now.
    Account(Account),
    /// A caller's key as it is now.
    Key {
        /// As it is now.
        key: ApiKey,
        /// The command had been done before; nothing changed.
        replayed: bool,
    },
    /// An asset as it is now.
    Asset {
        /// As it is now.
        asset: Box<Asset>,
        /// The command had been done before; nothing changed.
        replayed: bool,
    },
    /// A schedule or a webhook as it is now, or was when it was removed.
    Order {
        /// As it is now.
        order: Box<Order>,
        /// The command had been done before, or came too late; nothing changed.
        replayed: bool,
    },
    /// Nothing to tell.
    Nothing,
}

impl Done {
    pub(crate) fn order(order: impl Into<Order>, replayed: bool) -> Self {
        Self::Order { order: Box::new(order.into()), replayed }
    }
}

/// What a decision is made on.
pub(crate) struct Scene<'a> {
    pub(crate) set: &'a mut WorkingSet,
    pub(crate) catalog: &'a Catalog,
    pub(crate) now: Now,
}

/// Decides a batch in order; one answer for each command.
pub fn decide_batch(set: &mut WorkingSet, catalog: &Catalog, commands: &[Asked], now: Now) -> Vec<Answer> {
    commands.iter().map(|asked| decide(&mut Scene { set, catalog, now }, asked)).collect()
}

fn decide(scene: &mut Scene<'_>, asked: &Asked) -> Answer {
    if let Some(job) = asked.command.job().filter(|job| scene.set.job(*job).is_some()) {
        clock::catch_up(scene, job)?;
    }
    if let Some(done) = replay::by_key(scene, asked)? {
        return Ok(done);
    }
    let done = dispatch(scene, asked)?;
    operate::trail(scene, asked, &done);
    replay::remember(scene, asked, &done);
    Ok(done)
}

fn dispatch(scene: &mut Scene<'_>, asked: &Asked) -> Answer {
    let by = &asked.by;
    match &asked.command {
        Command::Create(it) => create::decide(scene, by, it),
        Command::Claim(it) => claim::decide(scene, it),
        Command::Report(it) => report::decide(scene, by, it),
        Command::Heartbeat(it) => heartbeat::decide(scene, it),
        Command::Progress(it, percent, message) => output::progress(scene, it, *percent, message.as_deref()),
        Command::Log(it) => output::log(scene, it),
        Command::Upload(it) => asset::upload(scene, it),
        Command::AddAsset(it) => asset::add(scene, it),
        Command::ForgetGarbage(paths) => {
            scene.set.changes.forgotten_garbage.extend(paths.iter().cloned());
            Ok(Done::Nothing)
        }
        Command::Cancel(it) => cancel::decide(scene, by, it),
        Command::DeadLetter(job, reason, detail) => operate::dead_letter(scene, by, (*job, *reason), detail),
        Command::Signal(job, name, note) => operate::signal(scene, by, (*job, name), note.clone()),
        Command::Retry(it) => retry::decide(scene, by, it),
        Command::Disconnect(it) => operate::disconnect(scene, by, it),
        Command::Dismiss(job, reason) => operate::dismiss(scene, by, *job, reason),
        Command::Pause(queue, paused) => {
            operate::pause(scene, by, queue, *paused);
            Ok(Done::Nothing)
        }
        Command::Grant(user, amount, reason) => operate::grant(scene, by, (user, *amount), reason.as_deref()),
        Command::Register(key, source) => operate::register(scene, key, source),
        Command::AddKey(it) => api_key::add(scene, by, it),
        Command::RevokeKey(id) => api_key::revoke(scene, by, id),
        Command::AddSchedule(it) => schedule::add(scene, by, it),
        Command::ChangeSchedule(id, change) => schedule::change(scene, by, (id, *change)),
        Command::Fire(it) => schedule::fire(scene, by, it),
        Command::AddWebhook(it) => webhook::add(scene, by, it),
        Command::ChangeWebhook(id, change) => webhook::change(scene, by, (id, change)),
        Command::Seen(workers) => {
            operate::seen(scene, workers);
            Ok(Done::Nothing)
        }
        Command::SeenNode(node) => {
            operate::seen_node(scene, node);
            Ok(Done::Nothing)
        }
        Command::Seat(worker, credential, connection) => {
            operate::seat(scene, (worker, credential), *connection);
            Ok(Done::Nothing)
        }
        Command::Sweep(job) => scene.job(*job).map(|_| Done::Nothing),
        Command::Purge(job) => operate::purge(scene, *job),
        Command::Prune => {
            scene.set.changes.prune = Some(scene.now.at);
            Ok(Done::Nothing)
        }
    }
}

impl Scene<'_> {
    /// Writes a standing order, and tells it.
    pub(crate) fn put_order(&mut self, order: impl Into<Order>) -> Done {
        let order = order.into();
        self.set.put_order(order.clone());
        Done::order(order, false)
    }

    /// The job, or that there is none.
    pub(crate) fn job(&self, id: JobId) -> Result<Arc<Job>, Refusal> {
        self.set.job(id).cloned().ok_or_else(|| Refusal::no_job(id))
    }

    /// The lifecycle and version that a job was created under.
    pub(crate) fn lifecycle(&self, job: &Job) -> Result<Arc<Lifecycle>, Refusal> {
        let key = &job.spec.lifecycle;
        self.catalog.lifecycle(key).cloned().ok_or_else(|| Refusal::UnknownLifecycle(key.clone()))
    }

    /// The policy of a job's type; the lifecycle's own where the caller of a catch-all chose another one.
    pub(crate) fn policy(&self, job_type: &Name, lifecycle: &Lifecycle) -> Policy {
        self.type_for(job_type, lifecycle).map_or(lifecycle.policy, |found| found.policy)
    }

    /// When a state that is entered now times out: by its type's word, or its lifecycle's.
    pub(crate) fn timeout(&self, job_type: &Name, lifecycle: &Lifecycle, state: &str) -> Option<Deadline> {
        let own = self.type_for(job_type, lifecycle);
        let own = own.and_then(|found| found.timeouts.iter().find(|(name, _)| name == state));
        let declared = || match lifecycle.state(state)?.timeout {
            Timeout::After(span) => Some(span),
            Timeout::Never | Timeout::Unsaid => None,
        };
        // The version that a job was created under may have no rule for what its type says today.
        let span = own.map(|(_, span)| *span).filter(|_| lifecycle.has_rule(state, &Trigger::Timeout));
        span.or_else(declared).map(|span| self.now.running() + span)
    }

    fn type_for(&self, job_type: &Name, lifecycle: &Lifecycle) -> Option<&Arc<JobType>> {
        let found = self.catalog.job_type(job_type.as_str());
        found.filter(|found| found.lifecycle.name == lifecycle.name)
    }

    /// The job as it is now, as an answer.
    pub(crate) fn done(&self, id: JobId) -> Answer {
        Ok(Done::Job { job: self.job(id)?, replayed: false, ignored: false })
    }
}

/// No rule leads from here by this trigger.
pub(crate) fn invalid_transition(job: &Job, lifecycle: &Lifecycle, trigger: &Trigger) -> Refusal {
    Refusal::InvalidTransition {
        job: job.id(),
        current_state: job.state.clone(),
        trigger: trigger.clone(),
        allowed: lifecycle.allowed(job.state.as_str()),
    }
}
