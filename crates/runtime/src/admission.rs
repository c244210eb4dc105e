//! Admission of new jobs, on the caller's task before the batch: checks the payload against the type's schema and guard,
//! assigns the id, and computes derived keys. `now` in a guard is this node's estimate of the store's time.

use std::sync::Mutex;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tenure_core::command::IdempotencyKey;
use tenure_core::json::Json;

use crate::catalog::{ActiveDefinitions, CompiledType};
use crate::guard::GuardInput;
use crate::prelude::*;
use crate::schema::SchemaError;

/// A requested job.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub by: CommandOrigin,
    pub job_type: TypeName,
    pub payload: Json,
    /// Only for the catch-all type.
    pub lifecycle: Option<LifecycleName>,
    pub user_id: Option<UserId>,
    /// `None` in the next three: the type's default.
    pub queue: Option<QueueName>,
    pub priority: Option<i32>,
    pub max_attempts: Option<u32>,
    pub when: When,
    pub links: Links,
    pub key: Option<IdempotencyKey>,
}

impl NewJob {
    /// A job with defaults for everything but type and payload.
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

    /// Adds an idempotency key for this type and payload.
    #[must_use]
    pub fn keyed(self, key: &str) -> Self {
        let fingerprint = self.payload.digest();
        Self { key: Some(IdempotencyKey { key: key.into(), fingerprint }), ..self }
    }
}

/// Generates version-7 ids that increase even within a millisecond.
#[derive(Debug, Default)]
pub(crate) struct Ids(Mutex<u128>);

impl Ids {
    pub(crate) fn next(&self, now: Timestamp, chance: u128) -> JobId {
        let mut last = self.0.lock().expect("no thread panics while holding the lock");
        let fresh = JobId::new(now.0 as u64, chance).seed();
        let id = if fresh > *last { fresh } else { *last + 1 + (chance & 0xffff) };
        *last = id;
        JobId(uuid::Uuid::from_u128(id))
    }
}

/// Checks a new job against its type and builds the command, or refuses.
pub(crate) fn admit(
    active: &ActiveDefinitions,
    new: NewJob,
    id: JobId,
    now: Timestamp,
) -> Result<CommandEnvelope, Refusal> {
    let unknown = || Refusal::UnknownType(new.job_type.clone());
    let job_type = active.catalog.job_type(new.job_type.as_str()).ok_or_else(unknown)?;
    let compiled = active.compiled_type(new.job_type.as_str()).ok_or_else(unknown)?;
    let lifecycle = match &new.lifecycle {
        Some(name) => active.catalog.newest(name.as_str()),
        None => active.catalog.lifecycle(&job_type.lifecycle),
    };
    let derives =
        new.key.is_none() && lifecycle.is_some_and(|lifecycle| !lifecycle.idempotency.derive.is_empty());
    if new.payload.as_str().len() > job_type.payload_bytes_max {
        return Err(Refusal::TooLarge { what: "payload", limit: job_type.payload_bytes_max });
    }
    let mut key = new.key.clone().map_or(CreationKey::None, CreationKey::Given);
    if compiled.schema.is_some() || compiled.guard.is_some() || derives {
        // A payload that was stored by an earlier version and is submitted again may be unreadable.
        let payload = new.payload.to_value().map_err(|flaw| {
            Refusal::ValidationFailed(vec![Pointed {
                pointer: "#/payload".to_owned(),
                detail: flaw.to_string(),
            }])
        })?;
        if let Some(schema) = &compiled.schema {
            let pointed = |SchemaError { pointer, detail }| Pointed { pointer, detail };
            let flaws: Vec<_> = schema.check(&payload).into_iter().map(pointed).collect();
            if !flaws.is_empty() {
                return Err(Refusal::ValidationFailed(flaws));
            }
        }
        check_guard(compiled, &new, &payload, now)?;
        if let Some(lifecycle) = lifecycle.filter(|_| derives) {
            key = derived_key(lifecycle, &new, &payload, now);
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

fn check_guard(
    compiled: &CompiledType,
    new: &NewJob,
    payload: &Value,
    now: Timestamp,
) -> Result<(), Refusal> {
    let Some(guard) = &compiled.guard else { return Ok(()) };
    let input = GuardInput { payload, user_id: new.user_id.as_deref(), now_ms: now.0 };
    let rejected = |detail: String| Refusal::GuardRejected { job_type: new.job_type.clone(), detail };
    match guard.admits(&input) {
        Ok(true) => Ok(()),
        Ok(false) => Err(rejected(format!("{} is false", guard.source()))),
        Err(error) => Err(rejected(error.to_string())),
    }
}

/// SHA-256 over the lifecycle's `derive` list; `decide` adds the minute, since it has the store's time.
fn derived_key(lifecycle: &Lifecycle, new: &NewJob, payload: &Value, now: Timestamp) -> CreationKey {
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
