//! What operators and the system itself do: dead-letter, signal, disconnect, dismiss, pause, grant, register,
//! note who was heard, purge.

use uuid::Uuid;

use crate::command::{Asked, Command, Hold};
use crate::credit::{LedgerLine, Movement};
use crate::dead_letter::{DeadLetter, Dismissal, ReasonCode};
use crate::decide::report::fits;
use crate::decide::transition::Step;
use crate::decide::{Answer, Done, Scene, clock, lease};
use crate::event::AuditLine;
use crate::id::{Actor, JobId, Name};
use crate::job::{Category, Class, JobError, LifecycleRef};
use crate::json::Json;
use crate::lifecycle::Trigger;
use crate::limits;
use crate::node::NodeSeen;
use crate::refusal::Refusal;
use crate::worker::WorkerSeen;

/// Gives a job up, for a reason.
pub(crate) fn dead_letter(
    scene: &mut Scene<'_>,
    by: &Actor,
    (id, reason): (JobId, ReasonCode),
    detail: &str,
) -> Answer {
    fits("detail", detail.len(), limits::MESSAGE_BYTES_MAX)?;
    let code = reason.as_str().to_ascii_uppercase();
    let error = JobError {
        class: Class::Permanent,
        reason_code: Some(reason),
        ..JobError::own(&code, detail, Category::System)
    };
    scene.follow(id, Step::new(Trigger::DeadLetter, by.clone()).failing(error))?;
    clock::catch_up(scene, id)?;
    scene.done(id)
}

/// A signal that the lifecycle declares.
pub(crate) fn signal(
    scene: &mut Scene<'_>,
    by: &Actor,
    (id, name): (JobId, &Name),
    note: Option<Json>,
) -> Answer {
    fits("payload", note.as_ref().map_or(0, |note| note.as_str().len()), limits::PAYLOAD_BYTES_MAX)?;
    scene.follow(id, Step { note, ..Step::new(Trigger::Signal(name.clone()), by.clone()) })?;
    clock::catch_up(scene, id)?;
    scene.done(id)
}

/// A worker's connection is gone. Where the lifecycle has no rule for it, the lease simply runs out.
pub(crate) fn disconnect(scene: &mut Scene<'_>, by: &Actor, hold: &Hold) -> Answer {
    let job = scene.job(hold.job)?;
    if !lease::is_held_by(&job, &hold.worker, hold.fence) {
        return Err(lease::conflict(&job, Some(hold.fence)));
    }
    if scene.lifecycle(&job)?.has_rule(job.state.as_str(), &Trigger::Disconnected) {
        let error = JobError::own("WORKER_DISCONNECTED", "the worker's connection is gone", Category::Queue);
        scene.follow(hold.job, Step::new(Trigger::Disconnected, by.clone()).failing(error))?;
        clock::catch_up(scene, hold.job)?;
    }
    scene.done(hold.job)
}

/// Puts a dead letter aside; it stays readable.
pub(crate) fn dismiss(scene: &mut Scene<'_>, by: &Actor, id: JobId, reason: &str) -> Answer {
    fits("reason", reason.len(), limits::MESSAGE_BYTES_MAX)?;
    scene.job(id)?;
    let letter = scene.set.dead_letters.get(&id).cloned();
    let letter = letter.ok_or_else(|| Refusal::NotFound { what: "dead letter", name: id.to_string() })?;
    if letter.dismissed.is_none() {
        let dismissed = Some(Dismissal { at: scene.now.at, by: by.clone(), reason: reason.to_owned() });
        scene.set.put_dead_letter(DeadLetter { dismissed, ..letter });
        audit(scene, by, "dismiss", (Some(id), Some(reason)));
    }
    scene.done(id)
}

/// Stops claims from a queue, or lets them go on.
pub(crate) fn pause(scene: &mut Scene<'_>, by: &Actor, queue: &Name, paused: bool) {
    let changed =
        if paused { scene.set.paused.insert(queue.clone()) } else { scene.set.paused.remove(queue) };
    if changed {
        scene.set.changes.queues.insert(queue.clone(), paused);
        audit(scene, by, if paused { "pause" } else { "resume" }, (None, Some(queue.as_str())));
    }
}

/// Gives a user credits.
pub(crate) fn grant(
    scene: &mut Scene<'_>,
    by: &Actor,
    (user, amount): (&Name, u64),
    reason: Option<&str>,
) -> Answer {
    let account = scene.set.account(user).moved(Movement::Grant, amount);
    let account = account.filter(|account| account.granted <= limits::CREDITS_MAX && amount > 0);
    let detail = || format!("must be from 1, and all grants together at most {}", limits::CREDITS_MAX);
    let account = account.ok_or_else(|| Refusal::invalid("#/grant", detail()))?;
    let (ts, kind, reason_text) = (scene.now.at, Movement::Grant, reason.map(str::to_owned));
    let line = LedgerLine { ts, user_id: user.clone(), kind, amount, job_id: None, reason: reason_text };
    scene.set.move_credits(account, line);
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    audit(scene, by, "grant", (None, Some(&format!("{amount} for {user}{why}"))));
    Ok(Done::Account(account))
}

/// A lifecycle file comes into force. The same name and version with another text is refused: jobs live under it.
pub(crate) fn register(scene: &mut Scene<'_>, key: &LifecycleRef, source: &str) -> Answer {
    match scene.set.lifecycles.get(key) {
        Some(known) if known == source => Ok(Done::Nothing),
        Some(_) => Err(Refusal::LifecycleChanged(key.clone())),
        None => {
            scene.set.lifecycles.insert(key.clone(), source.to_owned());
            scene.set.changes.lifecycles.insert(key.clone());
            Ok(Done::Nothing)
        }
    }
}

/// Workers that were heard; of one that is named twice, the last word counts.
pub(crate) fn seen(scene: &mut Scene<'_>, workers: &[(Name, Option<Name>)]) {
    for (name, credential) in workers {
        hear(scene, (name, credential.as_ref()), None);
    }
}

/// A connection takes a worker's name, whoever had it.
pub(crate) fn seat(scene: &mut Scene<'_>, (worker, credential): (&Name, &Name), connection: Uuid) {
    hear(scene, (worker, Some(credential)), Some(connection));
}

fn hear(scene: &mut Scene<'_>, (name, credential): (&Name, Option<&Name>), connection: Option<Uuid>) {
    let (seen_at, seen) = (scene.now.at, &mut scene.set.changes.seen);
    let heard = WorkerSeen { name: name.clone(), credential: credential.cloned(), seen_at, connection };
    match seen.binary_search_by(|known| known.name.cmp(name)) {
        Ok(at) => seen[at] = WorkerSeen { connection: connection.or(seen[at].connection), ..heard },
        Err(at) => seen.insert(at, heard),
    }
}

/// A node that was heard; its last word counts, and one that has stopped says no more.
pub(crate) fn seen_node(scene: &mut Scene<'_>, node: &NodeSeen) {
    let heard = NodeSeen { seen_at: scene.now.at, ..node.clone() };
    if !scene.set.changes.nodes.get(&node.id).is_some_and(|known| known.stopped) {
        scene.set.changes.nodes.insert(node.id.clone(), heard);
    }
}

/// Forgets a job whose retention is over; says `Nothing` if it is not.
pub(crate) fn purge(scene: &mut Scene<'_>, id: JobId) -> Answer {
    let job = scene.job(id)?;
    let kept = scene.lifecycle(&job)?.retention.jobs;
    if job.times.completed_at.is_some_and(|end| end + kept <= scene.now.at) {
        scene.set.changes.purged.insert(id);
    }
    Ok(Done::Nothing)
}

/// What operators do to single jobs leaves a line, too. Their other actions write their own.
pub(crate) fn trail(scene: &mut Scene<'_>, asked: &Asked, done: &Done) {
    let is_news = matches!(done, Done::Job { replayed: false, .. });
    if !asked.by.oversees() || !is_news {
        return;
    }
    let reason = match &asked.command {
        Command::Cancel(cancel) => cancel.reason.clone(),
        Command::DeadLetter(_, _, detail) => Some(detail.clone()),
        Command::Signal(_, name, _) => Some(name.to_string()),
        Command::Retry(_) => None,
        // A rule may name an audit line of its own; this one says who asked.
        Command::Report(report) if report.holder.is_none() => None,
        _ => return,
    };
    audit(scene, &asked.by, asked.command.verb(), (asked.command.job(), reason.as_deref()));
}

/// A line of the operators' trail.
pub(crate) fn audit(
    scene: &mut Scene<'_>,
    by: &Actor,
    action: &str,
    (job_id, reason): (Option<JobId>, Option<&str>),
) {
    let (ts, actor, reason) = (scene.now.at, by.clone(), reason.map(str::to_owned));
    scene.set.changes.audit.push(AuditLine { ts, action: action.into(), actor, job_id, reason });
}
