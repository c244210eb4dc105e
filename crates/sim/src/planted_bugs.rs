//! Fourteen planted bugs that the auditor must find. All are implemented here, around a correct store; core, runtime and stores
//! do not know them.

use std::sync::Arc;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::command::KeyId;
use tenure_core::flow::{Declarations, FlowRecord, FlowRecordKind};
use tenure_core::working_set::Changes;
use tenure_store::Decide;

use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Every command about a leased job counts as the holder's.
    NoFenceCheck,
    /// Events are written in a second commit, after the state's.
    EventOutsideCommit,
    /// A sweep writes back what it read earlier, over what was committed since.
    StaleSweep,
    /// Each refund is recorded twice.
    DoubleRefund,
    /// A job that returns to a ready state keeps its attempt.
    ForgottenAttempt,
    /// The commit that creates the job of a schedule does not write the schedule's next time.
    RepeatedFiring,
    /// A failed delivery of a webhook counts as delivered.
    SkippedDelivery,
    /// Uploads write no garbage record.
    ForgottenObject,
    /// A resource grants one unit more than its limit.
    ExtraPermit,
    /// The tokens that a lease takes are not stored.
    ForgottenTokens,
    /// The record of a unique key is not stored.
    ForgottenUniqueKey,
    /// The halt of a sequence is not stored.
    ForgottenHalt,
    /// All keys of a shared queue have the same weight.
    IgnoredWeights,
    /// An incomplete group does not wait.
    ImpatientGroup,
}

impl Bug {
    pub const ALL: [Self; 14] = [
        Self::NoFenceCheck,
        Self::EventOutsideCommit,
        Self::StaleSweep,
        Self::DoubleRefund,
        Self::ForgottenAttempt,
        Self::RepeatedFiring,
        Self::SkippedDelivery,
        Self::ForgottenObject,
        Self::ExtraPermit,
        Self::ForgottenTokens,
        Self::ForgottenUniqueKey,
        Self::ForgottenHalt,
        Self::IgnoredWeights,
        Self::ImpatientGroup,
    ];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoFenceCheck => "no-fence-check",
            Self::EventOutsideCommit => "event-outside-commit",
            Self::StaleSweep => "stale-sweep",
            Self::DoubleRefund => "double-refund",
            Self::ForgottenAttempt => "forgotten-attempt",
            Self::RepeatedFiring => "repeated-firing",
            Self::SkippedDelivery => "skipped-delivery",
            Self::ForgottenObject => "forgotten-object",
            Self::ExtraPermit => "extra-permit",
            Self::ForgottenTokens => "forgotten-tokens",
            Self::ForgottenUniqueKey => "forgotten-unique-key",
            Self::ForgottenHalt => "forgotten-halt",
            Self::IgnoredWeights => "ignored-weights",
            Self::ImpatientGroup => "impatient-group",
        }
    }

    /// What changes each commit, if the bug is of that kind.
    pub(crate) fn tamper(self) -> Option<fn(&mut WorkingSet)> {
        Some(match self {
            Self::NoFenceCheck | Self::EventOutsideCommit | Self::StaleSweep => return None,
            Self::DoubleRefund => refund_twice,
            Self::ForgottenAttempt => forget_attempts,
            Self::RepeatedFiring => fire_again,
            Self::SkippedDelivery => skip_deliveries,
            Self::ForgottenObject => forget_objects,
            Self::ExtraPermit => raise_limits,
            Self::ForgottenTokens => forget_tokens,
            Self::ForgottenUniqueKey => forget_unique_keys,
            Self::ForgottenHalt => forget_halts,
            Self::IgnoredWeights => ignore_weights,
            Self::ImpatientGroup => hurry_groups,
        })
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bug| bug.as_str() == text)
    }
}

/// No fence check: replaces worker and fence of the command by those of the lease.
pub(crate) fn as_the_holder(mut envelope: CommandEnvelope, job: Option<&Job>) -> CommandEnvelope {
    let Some(lease) = job.and_then(|job| job.lease.as_deref()) else { return envelope };
    let holder = match &mut envelope.command {
        Command::Report(report) => report.holder.as_mut().map(|it| (&mut it.worker, &mut it.fence)),
        Command::Log(log) => log.holder.as_mut().map(|it| (&mut it.worker, &mut it.fence)),
        Command::Heartbeat(hold) | Command::Progress { hold, .. } => {
            Some((&mut hold.worker, &mut hold.fence))
        }
        _ => None,
    };
    if let Some((worker, fence)) = holder {
        (*worker, *fence) = (lease.worker.clone(), lease.fence);
    }
    envelope
}

/// Double refund: repeats the movement in the account and in the ledger.
fn refund_twice(set: &mut WorkingSet) {
    let refunds: Vec<LedgerLine> =
        set.changes.appended.ledger.iter().filter(|line| line.kind == Movement::Refund).cloned().collect();
    for line in refunds {
        if let Some(account) = set.accounts.get_mut(&line.user_id) {
            account.reserved = account.reserved.saturating_sub(line.amount);
        }
        set.changes.appended.ledger.push(line);
    }
}

/// Forgotten attempt: a return to a ready state does not count as a new attempt.
fn forget_attempts(set: &mut WorkingSet) {
    let changed: Vec<JobId> =
        set.changes.jobs.updated.iter().chain(&set.changes.jobs.created).copied().collect();
    for id in changed {
        let mut forgotten = 0;
        let own = |event: &&mut Event| event.job_id == id && event.seq.is_some();
        for event in set.changes.appended.events.iter_mut().filter(own) {
            forgotten += u32::from(event.facts.phase() == Phase::Ready && event.seq != Some(1));
            event.attempt -= forgotten;
        }
        if let Some(job) = set.jobs.get_mut(&id).filter(|_| forgotten > 0) {
            Arc::make_mut(job).attempt -= forgotten;
        }
    }
}

/// Repeated firing: the schedule stays as it was.
fn fire_again(set: &mut WorkingSet) {
    let is_firing = |event: &Event| event.actor.to_string().starts_with("schedule:");
    if set.changes.appended.events.iter().any(is_firing) {
        set.changes.upserted.automations.retain(|(kind, _)| *kind != AutomationKind::Schedule);
    }
}

/// Skipped delivery: the position advances past the event that failed.
fn skip_deliveries(set: &mut WorkingSet) {
    for id in &set.changes.upserted.automations {
        if let Some(Automation::Webhook(webhook)) = set.automations.get_mut(id)
            && webhook.failures > 0
            && webhook.holder.is_none()
        {
            webhook.position.0 += 1;
        }
    }
}

/// Forgotten object: an object that becomes no asset is not listed as garbage.
fn forget_objects(set: &mut WorkingSet) {
    set.changes.assets.garbage.clear();
}

/// Changes the declarations that a starting node puts in force.
fn redeclare(set: &mut WorkingSet, change: impl Fn(&mut Declarations)) {
    for record in set.changes.upserted.flow.values_mut() {
        if let Some(FlowRecord::Declarations(declarations)) = record {
            change(Arc::make_mut(declarations));
            Arc::make_mut(&mut set.flow.state).declarations = Arc::clone(declarations);
        }
    }
}

/// Extra permit: each limit of running units is one too high.
fn raise_limits(set: &mut WorkingSet) {
    redeclare(set, |declarations| {
        for resource in declarations.resources.values_mut() {
            resource.limits.running = resource.limits.running.map(|running| running + 1);
        }
    });
}

/// Ignored weights: queues are declared without any.
fn ignore_weights(set: &mut WorkingSet) {
    redeclare(set, |declarations| {
        let shares = declarations.queues.values_mut().filter_map(|queue| queue.share.as_mut());
        shares.for_each(|share| share.weights.clear());
    });
}

/// Impatient group: the declared wait is over at once.
fn hurry_groups(set: &mut WorkingSet) {
    redeclare(set, |declarations| {
        let batches = declarations.types.values_mut().filter_map(|flow| flow.batch.as_mut());
        batches.for_each(|batch| batch.wait = Millis(1));
    });
}

/// Forgotten tokens: buckets stay full.
fn forget_tokens(set: &mut WorkingSet) {
    set.changes.upserted.flow.retain(|(kind, ..), _| *kind != FlowRecordKind::Level);
}

/// Forgotten unique key: the next creation does not find the job.
fn forget_unique_keys(set: &mut WorkingSet) {
    let is_unique = |id: &KeyId| set.keys.get(id).is_some_and(|record| record.expires_at == Timestamp::NEVER);
    set.changes.upserted.keys.retain(|id| !is_unique(id));
}

/// Forgotten halt: the sequence continues after a failure.
fn forget_halts(set: &mut WorkingSet) {
    set.changes.upserted.flow.retain(|(kind, ..), _| *kind != FlowRecordKind::Halt);
    if !set.flow.state.halts.is_empty() {
        Arc::make_mut(&mut set.flow.state).halts.clear();
    }
}

/// Time of the stale sweep between reading and writing.
const SLOW_SWEEP: std::time::Duration = std::time::Duration::from_millis(150);

/// Event outside the commit: writes the state first, then the events, with a gap between.
pub(crate) async fn write_events_later(
    store: &MemoryStore,
    reads: Reads,
    mut decide: Decide,
) -> Result<(), StoreError> {
    let store = Store::from(store.clone());
    let state = move |set: &mut WorkingSet, now: Now| {
        decide(set, now);
        std::mem::take(&mut set.changes.appended.events)
    };
    let events = store.transact(reads, state).await?;
    if !events.is_empty() {
        let append = move |set: &mut WorkingSet, _| set.changes.appended.events.clone_from(&events);
        store.transact(Reads::default(), append).await?;
    }
    Ok(())
}

/// Stale sweep: reads and judges, waits, and writes without reading again.
pub(crate) async fn write_later(
    store: &MemoryStore,
    reads: Reads,
    mut decide: Decide,
) -> Result<(), StoreError> {
    let store = Store::from(store.clone());
    let only_judge = move |set: &mut WorkingSet, now: Now| {
        decide(set, now);
        let judged = set.clone();
        set.changes = Changes::default();
        judged
    };
    let judged = store.transact(reads, only_judge).await?;
    if !judged.changes.is_empty() {
        tokio::time::sleep(SLOW_SWEEP).await;
        store.transact(Reads::default(), move |set, _| *set = judged.clone()).await?;
    }
    Ok(())
}
