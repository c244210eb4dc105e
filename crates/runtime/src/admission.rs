//! Admission of new jobs, on the caller's task before the batch: checks the payload against the type's schema and guard,
//! assigns the id, and computes derived keys and the keys of flow control. `now` in a guard is this node's estimate of the store's time.

use std::sync::Mutex;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tenure_core::command::{Amend, IdempotencyKey, Reader};
use tenure_core::flow::FlowKeys;
use tenure_core::job::Job;
use tenure_core::job_type::JobType;
use tenure_core::json::Json;

use crate::catalog::{ActiveDefinitions, CompiledType};
use crate::flow::CompiledFlow;
use crate::guard::{GuardInput, KeyError, KeyInput};
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
    /// Existing jobs that the caller may read.
    pub reader: Reader,
}

/// New values of a job that no worker holds. `None` stays.
#[derive(Clone, Debug, Default)]
pub struct Amendment {
    pub payload: Option<Json>,
    pub priority: Option<i32>,
    pub run_at: Option<Timestamp>,
    /// Refused unless this is the job's `seq`.
    pub if_seq: Option<u32>,
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
            reader: Reader::default(),
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
    declared: &CompiledFlow,
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
    let mut key = new.key.clone().map_or(CreationKey::None, CreationKey::Given);
    let mut flow = FlowKeys::default();
    let queue = new.queue.as_ref().unwrap_or(&job_type.queue);
    if compiled.reads_payload() || derives || declared.applies(&new.job_type, queue) {
        let payload = readable(&new.payload)?;
        let job = Described { job_type: &new.job_type, queue, user_id: new.user_id.as_ref() };
        flow = check(compiled, declared, &job, &payload, now)?;
        if let Some(lifecycle) = lifecycle.filter(|_| derives) {
            key = derived_key(lifecycle, &new, &payload, now);
        }
    }
    // With a key an earlier job may be the answer, which is found in the commit.
    if key == CreationKey::None && flow.unique.is_none() {
        check_size(&new.payload, job_type)?;
    }
    let NewJob {
        by,
        job_type,
        payload,
        lifecycle,
        user_id,
        queue,
        priority,
        max_attempts,
        when,
        links,
        reader,
        ..
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
        flow,
        is_limited: true,
        reader,
        throttled: None,
    };
    Ok(CommandEnvelope { by, key: None, command: Command::Create(Box::new(create)) })
}

pub(crate) fn check_size(payload: &Json, job_type: &JobType) -> Result<(), Refusal> {
    let limit = job_type.payload_bytes_max;
    if payload.as_str().len() > limit {
        return Err(Refusal::TooLarge { what: "payload", limit });
    }
    Ok(())
}

/// Checks the new payload of a job like that of a new one and builds the command, or refuses.
pub(crate) fn amend(
    active: &ActiveDefinitions,
    declared: &CompiledFlow,
    by: CommandOrigin,
    job: &Job,
    amendment: Amendment,
    now: Timestamp,
) -> Result<CommandEnvelope, Refusal> {
    let spec = &job.spec;
    let Amendment { payload, priority, run_at, if_seq, key } = amendment;
    let compiled = active.compiled_type(spec.job_type.as_str());
    let compiled = compiled.ok_or_else(|| Refusal::UnknownType(spec.job_type.clone()))?;
    let mut flow = None;
    if let Some(new) = &payload {
        let job = Described { job_type: &spec.job_type, queue: &spec.queue, user_id: spec.user_id.as_ref() };
        flow = Some(check(compiled, declared, &job, &readable(new)?, now)?);
    }
    let (id, job_type) = (job.id(), spec.job_type.clone());
    let amend = Amend { job: id, job_type, payload, priority, run_at, flow, if_seq };
    Ok(CommandEnvelope { by, key, command: Command::Amend(Box::new(amend)) })
}

/// What guards and keys see of a job besides its payload.
struct Described<'a> {
    job_type: &'a TypeName,
    queue: &'a QueueName,
    user_id: Option<&'a UserId>,
}

/// A payload that was stored by an earlier version and is submitted again may be unreadable.
fn readable(payload: &Json) -> Result<Value, Refusal> {
    payload.to_value().map_err(|flaw| Refusal::invalid("#/payload", flaw.to_string()))
}

/// Schema, then guard, then keys.
fn check(
    compiled: &CompiledType,
    declared: &CompiledFlow,
    job: &Described<'_>,
    payload: &Value,
    now: Timestamp,
) -> Result<FlowKeys, Refusal> {
    if let Some(schema) = &compiled.schema {
        let pointed = |SchemaError { pointer, detail }| Pointed { pointer, detail };
        let flaws: Vec<_> = schema.check(payload).into_iter().map(pointed).collect();
        if !flaws.is_empty() {
            return Err(Refusal::ValidationFailed(flaws));
        }
    }
    check_guard(compiled, job, payload, now)?;
    let (user_id, job_type) = (job.user_id.map(UserId::as_str), job.job_type.as_str());
    let input = KeyInput { payload, user_id, job_type, queue: job.queue.as_str() };
    let unique = compiled.unique_key.as_ref().map(|key| key.value(&input)).transpose();
    let refused = |error: KeyError| Refusal::invalid("#/payload", error.to_string());
    let unique = unique.map_err(refused)?.flatten().map(Into::into);
    Ok(FlowKeys { unique, ..declared.keys(&input).map_err(refused)? })
}

fn check_guard(
    compiled: &CompiledType,
    job: &Described<'_>,
    payload: &Value,
    now: Timestamp,
) -> Result<(), Refusal> {
    let Some(guard) = &compiled.guard else { return Ok(()) };
    let input = GuardInput { payload, user_id: job.user_id.map(UserId::as_str), now_ms: now.0 };
    let rejected = |detail: String| Refusal::GuardRejected { job_type: job.job_type.clone(), detail };
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
