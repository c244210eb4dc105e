//! Before the batch, on the caller's own task: the payload passes its type's schema and guard, the job gets its id,
//! and a derived key its digest. A guard's `now` is this node's reading of the store's clock.

use std::sync::Mutex;

use sha2::{Digest, Sha256};
use tenure_core::command::{CommandEnvelope, Command, Create, CreationKey, IdempotencyKey, When};
use tenure_core::id::{Actor, JobId, LifecycleName, QueueName, TypeName, UserId};
use tenure_core::job::Links;
use tenure_core::json::Json;
use tenure_core::lifecycle::Lifecycle;
use tenure_core::refusal::{Pointed, Refusal};
use tenure_core::time::Timestamp;

use crate::catalog::ActiveDefinitions;
use crate::guard::Scope;

/// A job that is asked for.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Who asks.
    pub by: Actor,
    /// What kind of work.
    pub job_type: TypeName,
    /// The work.
    pub payload: Json,
    /// Only for the catch-all type.
    pub lifecycle: Option<LifecycleName>,
    /// Whose.
    pub user_id: Option<UserId>,
    /// Instead of the type's.
    pub queue: Option<QueueName>,
    /// Instead of the type's.
    pub priority: Option<i32>,
    /// Instead of the type's.
    pub max_attempts: Option<u32>,
    /// When it may be claimed.
    pub when: When,
    /// Correlation and trace.
    pub links: Links,
    /// The caller's idempotency key.
    pub key: Option<IdempotencyKey>,
}

impl NewJob {
    /// A job of a type with a payload, and nothing else said.
    pub fn new(job_type: &str, payload: Json) -> Self {
        Self {
            by: "embedded".into(),
            job_type: job_type.into(),
            payload,
            lifecycle: None,
            user_id: None,
            queue: None,
            priority: None,
            max_attempts: None,
            when: When::Now,
            links: Links::default(),
            key: None,
        }
    }

    /// The same, known by an idempotency key: its repeat finds the first. The key stands for this type and payload.
    #[must_use]
    pub fn keyed(self, key: &str) -> Self {
        let fingerprint = self.payload.digest();
        Self { key: Some(IdempotencyKey { key: key.into(), fingerprint }), ..self }
    }
}

/// Makes ids that grow: version 7, in order even within a millisecond.
#[derive(Debug, Default)]
pub(crate) struct Ids(Mutex<u128>);

impl Ids {
    pub(crate) fn next(&self, now: Timestamp, chance: u128) -> JobId {
        let mut last = self.0.lock().expect("nobody panics while making an id");
        let fresh = JobId::new(now.0 as u64, chance).seed();
        let id = if fresh > *last { fresh } else { *last + 1 + (chance & 0xffff) };
        *last = id;
        JobId(uuid::Uuid::from_u128(id))
    }
}

/// Passes a new job through its type's entrance, or refuses it.
pub(crate) fn admit(in_force: &ActiveDefinitions, new: NewJob, id: JobId, now: Timestamp) -> Result<CommandEnvelope, Refusal> {
    let unknown = || Refusal::UnknownType(new.job_type.clone());
    let job_type = in_force.catalog.job_type(new.job_type.as_str()).ok_or_else(unknown)?;
    let entrance = in_force.entrance(new.job_type.as_str()).ok_or_else(unknown)?;
    let lifecycle = match &new.lifecycle {
        Some(name) => in_force.catalog.newest(name.as_str()),
        None => in_force.catalog.lifecycle(&job_type.lifecycle),
    };
    let derives =
        new.key.is_none() && lifecycle.is_some_and(|lifecycle| !lifecycle.idempotency.derive.is_empty());
    if new.payload.as_str().len() > job_type.payload_bytes_max {
        return Err(Refusal::TooLarge { what: "payload", limit: job_type.payload_bytes_max });
    }
    let mut key = new.key.clone().map_or(CreationKey::None, CreationKey::Given);
    if entrance.schema.is_some() || entrance.guard.is_some() || derives {
        let payload = new.payload.to_value();
        if let Some(schema) = &entrance.schema {
            let errors = schema.check(&payload);
            let pointed =
                |error: crate::schema::SchemaError| Pointed { pointer: error.pointer, detail: error.detail };
            if !errors.is_empty() {
                return Err(Refusal::ValidationFailed(errors.into_iter().map(pointed).collect()));
            }
        }
        guard(entrance, &new, &payload, now)?;
        if let Some(lifecycle) = lifecycle.filter(|_| derives) {
            key = derived(lifecycle, &new, &payload, now);
        }
    }
    let NewJob {
        by, job_type, payload, lifecycle, user_id, queue, priority, max_attempts, when, links, ..
    } = new;
    let create = Create {
        id,
        job_type,
        lifecycle,
        payload,
        user_id,
        queue,
        priority,
        max_attempts,
        when,
        links,
        key,
        throttled: None,
    };
    Ok(CommandEnvelope { by, key: None, command: Command::Create(Box::new(create)) })
}

fn guard(
    entrance: &crate::catalog::CompiledType,
    new: &NewJob,
    payload: &serde_json::Value,
    now: Timestamp,
) -> Result<(), Refusal> {
    let Some(guard) = &entrance.guard else { return Ok(()) };
    let scope = Scope { payload, user_id: new.user_id.as_deref(), now_ms: now.0 };
    let rejected = |detail: String| Refusal::GuardRejected { job_type: new.job_type.clone(), detail };
    match guard.admits(&scope) {
        Ok(true) => Ok(()),
        Ok(false) => Err(rejected(format!("{} is false", guard.source()))),
        Err(error) => Err(rejected(error.to_string())),
    }
}

/// SHA-256 over the lifecycle's `derive` list; the minute is added where the store's time is known.
fn derived(lifecycle: &Lifecycle, new: &NewJob, payload: &serde_json::Value, now: Timestamp) -> CreationKey {
    let mut hash = Sha256::new();
    let mut part = |name: &str, value: &[u8]| {
        for bytes in [name.as_bytes(), value] {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
    };
    for name in &lifecycle.idempotency.derive {
        match name.split_once('.') {
            Some(("payload", path)) => {
                let found = path.split('.').try_fold(payload, |value, field| value.get(field));
                part(name, &Json::of(&found).digest());
            }
            _ if name == "payload" => part(name, &new.payload.digest()),
            _ if name == "user_id" => part(name, new.user_id.as_deref().unwrap_or_default().as_bytes()),
            _ if name == "type" => part(name, new.job_type.as_str().as_bytes()),
            _ => {}
        }
    }
    let by_minute = lifecycle.idempotency.derive.iter().any(|name| name == "minute");
    CreationKey::Derived { digest: hash.finalize().into(), by_minute, about_minute: now.minute() }
}
