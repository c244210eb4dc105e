//! Replays (law 7): a verb repeated with its idempotency key, or repeated by the holder whose lease it ended.

use std::sync::Arc;

use crate::asset::AssetId;
use crate::command::{Command, CommandEnvelope};
use crate::command_origin::CommandOrigin;
use crate::credit::Account;
use crate::decide::lease::Presented;
use crate::decide::{CommandOutput, DecisionContext, clock, heartbeat, key, schedule, webhook};
use crate::id::{Fence, JobId, WorkerId};
use crate::job::{EndedLease, Job, LeaseEnd};
use crate::lifecycle::{Idempotency, Trigger};
use crate::refusal::Refusal;
use crate::working_set::KeyRecord;

/// The output for a key that was used before.
pub(crate) fn by_key(
    context: &mut DecisionContext<'_>,
    envelope: &CommandEnvelope,
) -> Result<Option<CommandOutput>, Refusal> {
    let mut ids = key::of_verb(envelope).into_iter().chain(key::of_verb_in_earlier_versions(envelope));
    let Some(record) = ids.find_map(|id| context.set.keys.get(&id)).cloned() else {
        return Ok(None);
    };
    if record.expires_at <= context.now.at {
        return Ok(None);
    }
    if let Some(given) = key::given(envelope)
        && record.fingerprint != Some(given.fingerprint)
    {
        return Err(Refusal::IdempotencyMismatch(given.key.clone()));
    }
    for (job, _) in &record.targets {
        if context.set.job(*job).is_some() {
            clock::catch_up(context, *job)?;
        }
    }
    again(context, envelope, &record).map(Some)
}

fn again(
    context: &DecisionContext<'_>,
    CommandEnvelope { by, command, .. }: &CommandEnvelope,
    record: &KeyRecord,
) -> Result<CommandOutput, Refusal> {
    let targets = &record.targets[..];
    match command {
        Command::Claim(claim) => Ok(CommandOutput::Claimed {
            jobs: still_held(context, by, &claim.worker, targets),
            replayed: true,
        }),
        Command::GrantCredits { user, .. } => Ok(CommandOutput::Account(context.set.account(user))),
        // A replayed heartbeat does not keep a lost lease alive.
        Command::Heartbeat(hold) => {
            heartbeat::answer(context.job(hold.job)?.as_ref(), &Presented::hold(by, hold))
        }
        Command::Log(log) => Ok(CommandOutput::Logged(context.job(log.job)?.output.log_count)),
        // The job of a deletion is gone.
        Command::PauseQueue { .. }
        | Command::ChangeResource { .. }
        | Command::ResumeSequence(_)
        | Command::Delete { .. } => Ok(CommandOutput::Nothing),
        Command::KeyRequest { .. } => Ok(CommandOutput::bound_at(record.created_at, true)),
        Command::ChangeSchedule { id, .. } => {
            Ok(CommandOutput::automation(schedule::find(context, id)?, true))
        }
        Command::ChangeWebhook { id, .. } => Ok(CommandOutput::automation(webhook::find(context, id)?, true)),
        Command::RotateKey(rotate) => {
            let key = context.set.api_keys.get(&rotate.id).cloned();
            let gone = || Refusal::NotFound { what: "key", name: rotate.id.to_string() };
            Ok(CommandOutput::Key { key: key.ok_or_else(gone)?, replayed: true })
        }
        Command::AddAsset(new) => {
            let added = targets.first().map(|(JobId(id), _)| AssetId(*id));
            let mut assets = context.set.assets.get(&new.job).into_iter().flatten();
            let asset = assets.find(|asset| Some(asset.id) == added).cloned();
            let asset = asset.ok_or_else(|| Refusal::no_job(new.job))?;
            Ok(CommandOutput::Asset { asset: Box::new(asset), replayed: true })
        }
        _ => match targets.first() {
            Some((job, _)) => {
                Ok(CommandOutput::Job { job: context.job(*job)?, replayed: true, ignored: false })
            }
            None => Ok(CommandOutput::Nothing),
        },
    }
}

/// The jobs of a claim whose leases are still live.
fn still_held(
    context: &DecisionContext<'_>,
    by: &CommandOrigin,
    worker: &WorkerId,
    targets: &[(JobId, Fence)],
) -> Vec<Arc<Job>> {
    let held = |(job, fence): &(JobId, Fence)| {
        context.set.job(*job).filter(|job| Presented::by(by, worker, *fence).holds(job)).cloned()
    };
    targets.iter().filter_map(held).collect()
}

/// Stores the targets of a command with a key.
pub(crate) fn remember(context: &mut DecisionContext<'_>, envelope: &CommandEnvelope, done: &CommandOutput) {
    let Some(id) = key::of_verb(envelope) else { return };
    let targets = match done {
        CommandOutput::Job { job, .. } | CommandOutput::Amended(job) => vec![(job.id(), Fence(0))],
        CommandOutput::Asset { asset, .. } => vec![(JobId(asset.id.0), Fence(0))],
        CommandOutput::Claimed { jobs, .. } => jobs.iter().map(|job| (job.id(), job.fence)).collect(),
        CommandOutput::Heartbeat { .. }
        | CommandOutput::Logged(_)
        | CommandOutput::TakenIn { .. }
        | CommandOutput::Account(Account { .. })
        | CommandOutput::Key { .. }
        | CommandOutput::Automation { .. }
        | CommandOutput::RequestBound { .. }
        | CommandOutput::Nothing => Vec::new(),
    };
    if matches!(done, CommandOutput::Claimed { .. }) && targets.is_empty() {
        return;
    }
    let now = context.now.at;
    let expires_at = now + Idempotency::default().window;
    let fingerprint = key::given(envelope).map(|given| given.fingerprint);
    context.set.put_key(KeyRecord { id, fingerprint, targets, created_at: now, expires_at });
}

/// Whether the last holder repeats the verb that ended its lease.
pub(crate) fn by_holder(job: &Job, presented: &Presented<'_>, trigger: &Trigger) -> bool {
    let ended_by_it = |ended: &EndedLease| ended.by == *trigger && ended.end == LeaseEnd::Reported;
    presented.held_last(job) && job.last_lease.as_deref().is_some_and(ended_by_it)
}
