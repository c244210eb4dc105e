//! The same verb again: by its key, or by its holder's repeat of what ended the lease (law 7).

use std::sync::Arc;

use crate::asset::AssetId;
use crate::command::{Asked, Command};
use crate::credit::Account;
use crate::decide::{Done, Scene, clock, heartbeat, key, lease};
use crate::id::{Fence, JobId, Name};
use crate::job::{Job, LeaseEnd};
use crate::lifecycle::{Idempotency, Trigger};
use crate::refusal::Refusal;
use crate::working_set::KeyRecord;

/// What was answered to this key before, if it was used.
pub(crate) fn by_key(scene: &mut Scene<'_>, asked: &Asked) -> Result<Option<Done>, Refusal> {
    let Some(record) = key::of_verb(asked).and_then(|id| scene.set.keys.get(&id)).cloned() else {
        return Ok(None);
    };
    if record.expires_at <= scene.now.at {
        return Ok(None);
    }
    if let Some(given) = key::given(asked)
        && record.fingerprint != Some(given.fingerprint)
    {
        return Err(Refusal::IdempotencyMismatch(given.key.clone()));
    }
    for (job, _) in &record.targets {
        if scene.set.job(*job).is_some() {
            clock::catch_up(scene, *job)?;
        }
    }
    again(scene, &asked.command, &record.targets).map(Some)
}

fn again(scene: &Scene<'_>, command: &Command, targets: &[(JobId, Fence)]) -> Result<Done, Refusal> {
    match command {
        Command::Claim(claim) => {
            Ok(Done::Claimed { jobs: still_held(scene, &claim.worker, targets), replayed: true })
        }
        Command::Grant(user, ..) => Ok(Done::Account(scene.set.account(user))),
        // A key does not keep a lost lease alive: its worker must stop.
        Command::Heartbeat(hold) => heartbeat::answer(scene.job(hold.job)?.as_ref(), hold),
        Command::Log(log) => Ok(Done::Logged(scene.job(log.job)?.output.log_count)),
        Command::Pause(..) => Ok(Done::Nothing),
        Command::AddAsset(new) => {
            let added = targets.first().map(|(JobId(id), _)| AssetId(*id));
            let mut assets = scene.set.assets.get(&new.job).into_iter().flatten();
            let asset = assets.find(|asset| Some(asset.id) == added).cloned();
            let asset = asset.ok_or_else(|| Refusal::no_job(new.job))?;
            Ok(Done::Asset { asset: Box::new(asset), replayed: true })
        }
        _ => match targets.first() {
            Some((job, _)) => Ok(Done::Job { job: scene.job(*job)?, replayed: true, ignored: false }),
            None => Ok(Done::Nothing),
        },
    }
}

/// Those of a claim's jobs whose leases still live.
fn still_held(scene: &Scene<'_>, worker: &Name, targets: &[(JobId, Fence)]) -> Vec<Arc<Job>> {
    let held = |(job, fence): &(JobId, Fence)| {
        scene.set.job(*job).filter(|job| lease::is_held_by(job, worker, *fence)).cloned()
    };
    targets.iter().filter_map(held).collect()
}

/// Keeps what a keyed command came to.
pub(crate) fn remember(scene: &mut Scene<'_>, asked: &Asked, done: &Done) {
    let Some(id) = key::of_verb(asked) else { return };
    let targets = match done {
        Done::Job { job, .. } => vec![(job.id(), Fence(0))],
        Done::Asset { asset, .. } => vec![(JobId(asset.id.0), Fence(0))],
        Done::Claimed { jobs, .. } => jobs.iter().map(|job| (job.id(), job.fence)).collect(),
        Done::Beat { .. }
        | Done::Logged(_)
        | Done::Account(Account { .. })
        | Done::Key { .. }
        | Done::Order { .. }
        | Done::Nothing => Vec::new(),
    };
    if matches!(done, Done::Claimed { .. }) && targets.is_empty() {
        return;
    }
    let now = scene.now.at;
    let expires_at = now + Idempotency::default().window;
    let fingerprint = key::given(asked).map(|given| given.fingerprint);
    scene.set.remember(KeyRecord { id, fingerprint, targets, created_at: now, expires_at });
}

/// Whether this is the last holder's repeat of the verb that ended its lease.
pub(crate) fn by_holder(job: &Job, worker: &Name, fence: Fence, trigger: &Trigger) -> bool {
    job.last_lease.as_ref().is_some_and(|ended| {
        ended.fence == fence
            && ended.worker == *worker
            && ended.by == *trigger
            && ended.end == LeaseEnd::Reported
    })
}
