//! Five planted bugs, by which the simulator shows that it bites. Each is made here, around an honest store; nothing in
//! the core, the runtime or the stores knows of them.

use tenure_core::command::{Asked, Command, Hold};
use tenure_core::credit::{LedgerLine, Movement};
use tenure_core::event::Event;
use tenure_core::id::{Fence, JobId, Name};
use tenure_core::job::Job;
use tenure_core::lifecycle::Phase;
use tenure_core::time::Now;
use tenure_core::working_set::{Changes, Reads, WorkingSet};
use tenure_store::{MemoryStore, Store, StoreError};

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Whoever speaks for a leased job is taken for its holder.
    NoFenceCheck,
    /// Events are written in a commit of their own, after the state's.
    EventOutsideCommit,
    /// A sweep that writes back what it read a while ago, over whatever was committed since.
    StaleSweep,
    /// Each refund is booked twice.
    DoubleRefund,
    /// A job that returns to a ready state keeps its attempt.
    ForgottenAttempt,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::NoFenceCheck,
        Self::EventOutsideCommit,
        Self::StaleSweep,
        Self::DoubleRefund,
        Self::ForgottenAttempt,
    ];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoFenceCheck => "no-fence-check",
            Self::EventOutsideCommit => "event-outside-commit",
            Self::StaleSweep => "stale-sweep",
            Self::DoubleRefund => "double-refund",
            Self::ForgottenAttempt => "forgotten-attempt",
        }
    }

    /// By its name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bug| bug.as_str() == text)
    }
}

/// No fence check: a server that reads who holds the job instead of asking who speaks.
pub(crate) fn as_the_holder(asked: Asked, job: Option<&Job>) -> Asked {
    let Some(lease) = job.and_then(|job| job.lease.as_deref()) else { return asked };
    let live: (Name, Fence) = (lease.worker.clone(), lease.fence);
    let hold = |hold: Hold| Hold { worker: live.0.clone(), fence: live.1, ..hold };
    let command = match asked.command {
        Command::Report(mut report) => {
            report.holder = report.holder.map(|_| live.clone());
            Command::Report(report)
        }
        Command::Log(mut log) => {
            log.holder = log.holder.map(|_| live.clone());
            Command::Log(log)
        }
        Command::Heartbeat(it) => Command::Heartbeat(hold(it)),
        Command::Progress(it, percent, message) => Command::Progress(hold(it), percent, message),
        other => other,
    };
    Asked { command, ..asked }
}

/// Double refund: the same movement once more, in the account and in the ledger.
pub(crate) fn refund_twice(set: &mut WorkingSet) {
    let refunds: Vec<LedgerLine> =
        set.changes.ledger.iter().filter(|line| line.kind == Movement::Refund).cloned().collect();
    for line in refunds {
        if let Some(account) = set.accounts.get_mut(&line.user_id) {
            account.reserved = account.reserved.saturating_sub(line.amount);
        }
        set.changes.ledger.push(line);
    }
}

/// Forgotten attempt: every return to a ready state is counted as the attempt before.
pub(crate) fn forget_attempts(set: &mut WorkingSet) {
    let changed: Vec<JobId> = set.changes.updated.iter().chain(&set.changes.created).copied().collect();
    for id in changed {
        let mut forgotten = 0;
        let own = |event: &&mut Event| event.job_id == id && event.seq.is_some();
        for event in set.changes.events.iter_mut().filter(own) {
            forgotten += u32::from(event.facts.phase() == Phase::Ready && event.seq != Some(1));
            event.attempt -= forgotten;
        }
        if let Some(job) = set.jobs.get_mut(&id).filter(|_| forgotten > 0) {
            std::sync::Arc::make_mut(job).attempt -= forgotten;
        }
    }
}

/// How long the stale sweep takes between reading and writing.
const SLOW_SWEEP: std::time::Duration = std::time::Duration::from_millis(150);

/// Event outside the commit: first the state, then what happened, and whatever comes between the two wins.
pub(crate) async fn write_events_later<T: Send + 'static>(
    store: &MemoryStore,
    reads: Reads,
    mut judge: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
) -> Result<T, StoreError> {
    let state = move |set: &mut WorkingSet, now: Now| {
        let answer = judge(set, now);
        (answer, std::mem::take(&mut set.changes.events))
    };
    let (answer, events) = store.transact(reads, state).await?;
    if !events.is_empty() {
        store.transact(Reads::default(), move |set, _| set.changes.events.clone_from(&events)).await?;
    }
    Ok(answer)
}

/// Stale sweep: reads and judges, takes its time, and writes without looking again.
pub(crate) async fn write_later<T: Send + 'static>(
    store: &MemoryStore,
    reads: Reads,
    mut judge: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
) -> Result<T, StoreError> {
    let only_judge = move |set: &mut WorkingSet, now: Now| {
        let answer = judge(set, now);
        let judged = set.clone();
        set.changes = Changes::default();
        (answer, judged)
    };
    let (answer, judged) = store.transact(reads, only_judge).await?;
    if !judged.changes.is_empty() {
        tokio::time::sleep(SLOW_SWEEP).await;
        store.transact(Reads::default(), move |set, _| *set = judged.clone()).await?;
    }
    Ok(answer)
}
