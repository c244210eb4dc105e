//! The rules. What Tenure permits and refuses is decided below this module and nowhere else: not in SQL, not in a
//! handler, not in an SDK.
//!
//! A batch is decided command by command on one working set. For each command: the clock of its job first (law 9), then
//! its idempotency key (law 7), then the command itself. A refused command changes nothing.

mod account;
pub(crate) mod amend;
mod api_key;
mod asset;
mod audit;
mod cancel;
mod claim;
pub(crate) mod clock;
mod compensation;
mod configuration;
mod consequences;
pub(crate) mod create;
mod dead_letter;
mod erasure;
mod heartbeat;
mod intake;
pub(crate) mod key;
mod lease;
mod lifecycle;
mod output;
mod queue;
mod replay;
mod report;
mod resource;
mod retention;
mod retry;
mod schedule;
mod sequence;
mod session;
mod signal;
mod statistics;
pub(crate) mod transition;
pub(crate) mod unique;
mod webhook;
mod worker;

use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::asset::Asset;
use crate::automation::Automation;
use crate::command::{Command, CommandEnvelope};
use crate::credit::Account;
use crate::id::{JobId, TypeName};
use crate::job::{CancelMode, Job, Lease};
use crate::job_type::{Catalog, JobType};
use crate::lifecycle::{Lifecycle, Policy, Timeout, Trigger};
use crate::refusal::Refusal;
use crate::time::{Deadline, Now};
use crate::working_set::WorkingSet;

pub type CommandResult = Result<CommandOutput, Refusal>;

/// The result of an accepted command. `replayed`: an earlier command with the same key had the same effect; nothing
/// changed.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandOutput {
    Job {
        job: Arc<Job>,
        replayed: bool,
        /// Accepted without effect: progress outside an active state.
        ignored: bool,
    },
    /// A creation changed this existing job instead.
    Amended(Arc<Job>),
    Claimed {
        /// Each with its lease.
        jobs: Vec<Arc<Job>>,
        replayed: bool,
    },
    Heartbeat {
        lease: Lease,
        /// A cancel request that the worker must obey.
        cancel: Option<CancelMode>,
    },
    /// The number of log lines of the job.
    Logged(u64),
    /// Requests of applications, which were judged one by one.
    TakenIn {
        /// Those that no other node had taken in before.
        taken: u64,
        /// The code of each refusal.
        refused: Vec<&'static str>,
        /// Jobs whose worker must receive a cancel request.
        cancelling: Vec<Arc<Job>>,
    },
    Account(Account),
    Key {
        key: ApiKey,
        replayed: bool,
    },
    Asset {
        asset: Box<Asset>,
        replayed: bool,
    },
    /// A schedule or webhook after the change, or before its removal. `replayed` also if another node was first.
    Automation {
        automation: Box<Automation>,
        replayed: bool,
    },
    Nothing,
}

impl CommandOutput {
    pub(crate) fn automation(automation: impl Into<Automation>, replayed: bool) -> Self {
        Self::Automation { automation: Box::new(automation.into()), replayed }
    }
}

/// The working set, definitions and time that a decision depends on.
pub(crate) struct DecisionContext<'a> {
    pub(crate) set: &'a mut WorkingSet,
    pub(crate) catalog: &'a Catalog,
    pub(crate) now: Now,
}

/// Decides a batch in order; one result for each command.
pub fn decide_batch(
    set: &mut WorkingSet,
    catalog: &Catalog,
    commands: &[CommandEnvelope],
    now: Now,
) -> Vec<CommandResult> {
    commands.iter().map(|envelope| decide(&mut DecisionContext { set, catalog, now }, envelope)).collect()
}

fn decide(context: &mut DecisionContext<'_>, envelope: &CommandEnvelope) -> CommandResult {
    if let Some(job) = envelope.command.job().filter(|job| context.set.job(*job).is_some()) {
        clock::catch_up(context, job)?;
    }
    if let Some(output) = replay::by_key(context, envelope)? {
        return Ok(output);
    }
    let before = context.audited_job(envelope);
    let output = dispatch(context, envelope)?;
    context.audit_job_action(envelope, before, &output);
    replay::remember(context, envelope, &output);
    Ok(output)
}

fn dispatch(context: &mut DecisionContext<'_>, envelope: &CommandEnvelope) -> CommandResult {
    let by = &envelope.by;
    match &envelope.command {
        Command::Create(it) => create::decide(context, by, it),
        Command::Claim(it) => claim::decide(context, by, it),
        Command::Report(it) => report::decide(context, by, it),
        Command::Heartbeat(it) => heartbeat::decide(context, by, it),
        Command::Progress { hold, percent, message } => {
            output::progress(context, by, hold, *percent, message.as_deref())
        }
        Command::Log(it) => output::log(context, by, it),
        Command::Upload(it) => asset::upload(context, by, it),
        Command::AddAsset(it) => asset::add(context, by, it),
        Command::ForgetGarbage(paths) => Ok(retention::forget_garbage(context, paths)),
        Command::Cancel(it) => cancel::decide(context, by, it),
        Command::TakeIn(requests) => Ok(intake::take_in(context, requests)),
        Command::DeadLetter { job, reason, detail } => {
            dead_letter::give_up(context, by, *job, *reason, detail)
        }
        Command::Signal { job, name, payload } => signal::decide(context, by, *job, name, payload.clone()),
        Command::Retry(it) => retry::decide(context, by, it),
        Command::Amend(it) => amend::decide(context, by, it),
        Command::Delete { job, reason } => erasure::delete(context, *job, reason.as_deref()),
        Command::Erase(it) => erasure::erase(context, by, it),
        Command::DeleteErased { user, job } => erasure::delete_erased(context, user, *job),
        Command::FinishErasure(user) => erasure::finish(context, by, user),
        Command::Disconnect(it) => worker::disconnect(context, by, it),
        Command::DismissDeadLetter { job, reason } => dead_letter::dismiss(context, by, *job, reason),
        Command::DeclareFlow(declarations) => Ok(resource::declare(context, declarations)),
        Command::ChangeResource { resource, change } => resource::change(context, by, resource, change),
        Command::ResumeSequence(id) => sequence::resume(context, by, id),
        Command::PauseQueue { queue, paused } => Ok(queue::pause(context, by, queue, *paused)),
        Command::GrantCredits { user, amount, reason } => {
            account::grant(context, by, user, *amount, reason.as_deref())
        }
        Command::RegisterLifecycle { lifecycle, source, is_update } => {
            lifecycle::register(context, by, lifecycle, source, *is_update)
        }
        Command::RecordConfiguration(it) => Ok(configuration::record(context, by, it)),
        Command::AddKey(it) => api_key::add(context, by, it),
        Command::RotateKey(it) => api_key::rotate(context, by, it),
        Command::RevokeKey(id) => api_key::revoke(context, by, id),
        Command::KeysUsed(uses) => Ok(api_key::used(context, uses)),
        Command::BeginSession(it) => session::begin(context, it),
        Command::EndSession(digest) => Ok(session::end(context, digest)),
        Command::AddSchedule(it) => schedule::add(context, by, it),
        Command::ChangeSchedule { id, change } => schedule::change(context, by, id, change),
        Command::Fire(it) => schedule::fire(context, by, it),
        Command::AddWebhook(it) => webhook::add(context, by, it),
        Command::ChangeWebhook { id, change } => webhook::change(context, by, id, change),
        Command::WorkersSeen(workers) => Ok(worker::seen(context, workers)),
        Command::NodeHeartbeat(node) => Ok(worker::node_heartbeat(context, node)),
        Command::AddStatistics(report) => Ok(statistics::add(context, report)),
        Command::BindWorkerConnection { worker, credential, connection } => {
            Ok(worker::bind_connection(context, worker, credential, *connection))
        }
        Command::KeyRequest { .. } => Ok(CommandOutput::Nothing),
        Command::Sweep(job) => context.job(*job).map(|_| CommandOutput::Nothing),
        Command::Purge(job) => retention::purge(context, *job),
        Command::Prune => Ok(retention::prune(context)),
    }
}

impl DecisionContext<'_> {
    pub(crate) fn put_automation(&mut self, automation: impl Into<Automation>) -> CommandOutput {
        let automation = automation.into();
        self.set.put_automation(automation.clone());
        CommandOutput::automation(automation, false)
    }

    pub(crate) fn job(&self, id: JobId) -> Result<Arc<Job>, Refusal> {
        self.set.job(id).cloned().ok_or_else(|| Refusal::no_job(id))
    }

    /// The lifecycle and version that a job was created under.
    pub(crate) fn lifecycle(&self, job: &Job) -> Result<Arc<Lifecycle>, Refusal> {
        let key = &job.spec.lifecycle;
        self.catalog.lifecycle(key).cloned().ok_or_else(|| Refusal::UnknownLifecycle(key.clone()))
    }

    /// The policy of a job's type; the lifecycle's where the caller of a catch-all type chose a different lifecycle.
    pub(crate) fn policy(&self, job_type: &TypeName, lifecycle: &Lifecycle) -> Policy {
        self.type_for(job_type, lifecycle).map_or(lifecycle.policy, |found| found.policy)
    }

    /// When a state that is entered now times out, by its type or else its lifecycle.
    pub(crate) fn timeout(
        &self,
        job_type: &TypeName,
        lifecycle: &Lifecycle,
        state: &str,
    ) -> Option<Deadline> {
        let own = self.type_for(job_type, lifecycle);
        let own = own.and_then(|found| found.timeouts.iter().find(|(name, _)| name == state));
        let declared = || match lifecycle.state(state)?.timeout {
            Timeout::After(span) => Some(span),
            Timeout::Never | Timeout::Unset => None,
        };
        // The lifecycle version of the job may have no timeout rule for this state.
        let span = own.map(|(_, span)| *span).filter(|_| lifecycle.has_rule(state, &Trigger::Timeout));
        span.or_else(declared).map(|span| self.now.running() + span)
    }

    fn type_for(&self, job_type: &TypeName, lifecycle: &Lifecycle) -> Option<&Arc<JobType>> {
        let found = self.catalog.job_type(job_type.as_str());
        found.filter(|found| found.lifecycle.name == lifecycle.name)
    }

    pub(crate) fn job_output(&self, id: JobId) -> CommandResult {
        Ok(CommandOutput::Job { job: self.job(id)?, replayed: false, ignored: false })
    }
}

/// The refusal of a trigger for which the job's state has no rule.
pub(crate) fn invalid_transition(job: &Job, lifecycle: &Lifecycle, trigger: &Trigger) -> Refusal {
    Refusal::InvalidTransition {
        job: job.id(),
        current_state: job.state.clone(),
        trigger: trigger.clone(),
        allowed: lifecycle.allowed(job.state.as_str()),
    }
}
