//! Idempotency keys: the ids under which they are stored, and how derived keys are built.

use crate::command::{Claim, Command, CommandEnvelope, Create, CreationKey, IdempotencyKey, KeyId};
use crate::id::Name;
use crate::time::Timestamp;

/// Largest difference between the submitting node's minute and the store's.
const MINUTES_AROUND: i64 = 2;

/// The id of a verb's key, if it has one. A worker's key belongs to its credential: the same key of another credential is
/// another key. For creations see [`candidates`].
pub(crate) fn of_verb(envelope: &CommandEnvelope) -> Option<KeyId> {
    verb_id(envelope, worker_credential(envelope))
}

/// The id under which earlier versions stored a worker's key, without its credential.
pub(crate) fn of_verb_in_earlier_versions(envelope: &CommandEnvelope) -> Option<KeyId> {
    worker_credential(envelope).and_then(|_| verb_id(envelope, None))
}

/// The credential of a claim, or of a command under a lease.
fn worker_credential(envelope: &CommandEnvelope) -> Option<&Name> {
    let is_of_worker = match &envelope.command {
        Command::Claim(_) | Command::Heartbeat(_) | Command::Progress { .. } | Command::Disconnect(_) => true,
        Command::Report(report) => report.holder.is_some(),
        Command::Log(log) => log.holder.is_some(),
        Command::AddAsset(new) => new.holder.is_some(),
        _ => false,
    };
    envelope.by.credential.as_ref().filter(|_| is_of_worker)
}

fn verb_id(envelope: &CommandEnvelope, credential: Option<&Name>) -> Option<KeyId> {
    let verb = envelope.command.verb().as_bytes();
    let id = |parts: &[&[u8]]| {
        let credential = credential.map(|credential| credential.as_str().as_bytes());
        Some(KeyId::of(&parts.iter().copied().chain(credential).collect::<Vec<_>>()))
    };
    if let Command::Claim(Claim { worker, request_id: Some(request), .. }) = &envelope.command {
        return id(&[b"request", worker.as_str().as_bytes(), request.as_str().as_bytes()]);
    }
    if let Command::AddStatistics(report) = &envelope.command {
        return id(&[verb, report.node.as_str().as_bytes(), &report.number.to_be_bytes()]);
    }
    let key = given(envelope)?.key.as_str().as_bytes();
    match &envelope.command {
        Command::Create(_) | Command::RegisterLifecycle { .. } => None,
        Command::Claim(claim) => id(&[verb, claim.worker.as_str().as_bytes(), key]),
        Command::Signal { job, name, .. } => id(&[verb, name.as_str().as_bytes(), job.0.as_bytes(), key]),
        Command::GrantCredits { user, .. } => id(&[verb, user.as_str().as_bytes(), key]),
        Command::Erase(erase) => id(&[verb, erase.user.as_str().as_bytes(), key]),
        Command::PauseQueue { queue, paused } => {
            id(&[verb, queue.as_str().as_bytes(), &[u8::from(*paused)], key])
        }
        Command::ChangeResource { resource, .. } => id(&[verb, resource.as_str().as_bytes(), key]),
        Command::ResumeSequence(sequence) => {
            id(&[verb, sequence.job_type.as_str().as_bytes(), sequence.key.as_str().as_bytes(), key])
        }
        Command::ChangeSchedule { id: schedule, change } => {
            id(&[verb, change.verb().as_bytes(), schedule.as_str().as_bytes(), key])
        }
        Command::ChangeWebhook { id: webhook, change } => {
            id(&[verb, change.verb().as_bytes(), webhook.as_str().as_bytes(), key])
        }
        Command::RotateKey(rotate) => id(&[verb, rotate.id.as_str().as_bytes(), key]),
        Command::KeyRequest { scope, .. } => id(&[verb, scope.as_str().as_bytes(), key]),
        command => id(&[verb, command.job()?.0.as_bytes(), key]),
    }
}

/// The caller's key. A claim with a `request_id` is identified by that alone.
pub(crate) fn given(envelope: &CommandEnvelope) -> Option<&IdempotencyKey> {
    let by_request = matches!(&envelope.command, Command::Claim(claim) if claim.request_id.is_some());
    envelope.key.as_ref().filter(|_| !by_request)
}

/// Every id that a creation's key may have when it is decided.
pub(crate) fn candidates(create: &Create) -> Vec<KeyId> {
    match &create.key {
        CreationKey::None => Vec::new(),
        CreationKey::Given(_) | CreationKey::Derived { by_minute: false, .. } => vec![id(create, 0)],
        CreationKey::Derived { about_minute, .. } => (about_minute - MINUTES_AROUND
            ..=about_minute + MINUTES_AROUND)
            .map(|minute| id(create, minute))
            .collect(),
    }
}

/// The ids under which an earlier creation with this key is found now: this minute's and the previous one's.
pub(crate) fn at(create: &Create, now: Timestamp) -> Vec<KeyId> {
    match &create.key {
        CreationKey::None => Vec::new(),
        CreationKey::Given(_) | CreationKey::Derived { by_minute: false, .. } => vec![id(create, 0)],
        CreationKey::Derived { .. } => vec![id(create, now.minute()), id(create, now.minute() - 1)],
    }
}

/// The id under which this creation is stored.
pub(crate) fn now(create: &Create, now: Timestamp) -> KeyId {
    let by_minute = matches!(create.key, CreationKey::Derived { by_minute: true, .. });
    id(create, if by_minute { now.minute() } else { 0 })
}

/// The key as a field of the job.
pub(crate) fn text(create: &Create, now: Timestamp) -> Option<Name> {
    match &create.key {
        CreationKey::None => None,
        CreationKey::Given(given) => Some(given.key.clone()),
        CreationKey::Derived { .. } => {
            let KeyId(bytes) = self::now(create, now);
            Some(uuid::Uuid::from_bytes(bytes).simple().to_string().into())
        }
    }
}

/// Scope: user and type. Given and derived keys never collide.
fn id(create: &Create, minute: i64) -> KeyId {
    let user = create.user_id.as_deref().unwrap_or_default().as_bytes();
    let job_type = create.job_type.as_str().as_bytes();
    match &create.key {
        CreationKey::Given(given) => {
            let key = given.key.as_str();
            KeyId::of(&[b"given", user, job_type, key.as_bytes()]).in_order_of(key)
        }
        CreationKey::Derived { digest, .. } => {
            KeyId::of(&[b"derived", user, job_type, digest, &minute.to_be_bytes()])
        }
        CreationKey::None => unreachable!("a creation without a key has no key id"),
    }
}
