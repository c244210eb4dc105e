//! Eight planted bugs that the auditor must find. All are implemented here, around a correct store; core, runtime and stores
//! do not know them.

use tenure_core::automation::{Automation, AutomationKind};
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
}

impl Bug {
    pub const ALL: [Self; 8] = [
        Self::NoFenceCheck,
        Self::EventOutsideCommit,
        Self::StaleSweep,
        Self::DoubleRefund,
        Self::ForgottenAttempt,
        Self::RepeatedFiring,
        Self::SkippedDelivery,
        Self::ForgottenObject,
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
        }
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
pub(crate) fn refund_twice(set: &mut WorkingSet) {
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
pub(crate) fn forget_attempts(set: &mut WorkingSet) {
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
            std::sync::Arc::make_mut(job).attempt -= forgotten;
        }
    }
}

/// Repeated firing: the schedule stays as it was.
pub(crate) fn fire_again(set: &mut WorkingSet) {
    let is_firing = |event: &Event| event.actor.to_string().starts_with("schedule:");
    if set.changes.appended.events.iter().any(is_firing) {
        set.changes.upserted.automations.retain(|(kind, _)| *kind != AutomationKind::Schedule);
    }
}

/// Skipped delivery: the position advances past the event that failed.
pub(crate) fn skip_deliveries(set: &mut WorkingSet) {
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
pub(crate) fn forget_objects(set: &mut WorkingSet) {
    set.changes.assets.garbage.clear();
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
