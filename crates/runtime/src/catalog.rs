//! The active definitions: lifecycles, and types with their schemas and guards, compiled and checked at start.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tenure_core::flow::{Declarations, Unique};
use tenure_core::job_type::{CATCH_ALL, JobType};
use tenure_core::lifecycle::Backoff;

use crate::flow::CompiledFlow;
use crate::guard::{Guard, GuardFlaw, KeyExpression};
use crate::prelude::*;
use crate::schema::Schema;

#[derive(Clone, Debug)]
pub struct Definitions {
    /// Older versions from the store stay active for the jobs that follow them.
    pub lifecycles: Vec<Lifecycle>,
    /// The catch-all type is named `*`.
    pub types: Vec<TypeDefinition>,
    /// Resources, sequences, shares and batches.
    pub flow: Arc<Declarations>,
}

impl Default for Definitions {
    /// The five built-in lifecycles, and a catch-all type that follows `distributed`.
    fn default() -> Self {
        let types = vec![TypeDefinition::new(CATCH_ALL, "distributed")];
        Self { lifecycles: Lifecycle::built_in(), types, flow: Arc::default() }
    }
}

impl Definitions {
    /// Why a runtime would not start with them, without a store.
    pub fn check(&self) -> Result<(), String> {
        CompiledFlow::compile(&self.flow)?;
        ActiveDefinitions::compile(self, Vec::new()).map(drop)
    }
}

/// A declared type. Unset values are the lifecycle's.
#[derive(Clone, Debug, Default)]
pub struct TypeDefinition {
    pub name: String,
    /// The newest version is used.
    pub lifecycle: String,
    /// A JSON Schema for payloads.
    pub schema: Option<Value>,
    /// An expression over `payload`, `user_id` and `now` that must be true.
    pub guard: Option<String>,
    pub cost: u64,
    pub queue: Option<String>,
    pub priority: i32,
    /// The type of the job that compensates a failed one.
    pub compensate_with: Option<String>,
    pub payload_bytes_max: Option<usize>,
    pub max_attempts: Option<u32>,
    pub lease: Option<Millis>,
    pub heartbeat: Option<Millis>,
    pub cancel_grace: Option<Millis>,
    pub backoff: Option<Backoff>,
    pub timeouts: Vec<(String, Millis)>,
    pub unique: Option<UniqueDefinition>,
}

/// A rule for jobs with the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqueDefinition {
    /// An expression over `payload`, `user_id`, `type` and `queue`.
    pub key: String,
    pub rule: Unique,
}

impl TypeDefinition {
    pub fn new(name: &str, lifecycle: &str) -> Self {
        Self { name: name.to_owned(), lifecycle: lifecycle.to_owned(), ..Self::default() }
    }
}

/// The compiled schema, guard and keys of a type.
#[derive(Debug, Default)]
pub(crate) struct CompiledType {
    pub(crate) schema: Option<Schema>,
    /// The schema as it was declared.
    declared_schema: Option<Arc<Value>>,
    pub(crate) guard: Option<Guard>,
    pub(crate) unique_key: Option<KeyExpression>,
}

impl CompiledType {
    pub(crate) fn reads_payload(&self) -> bool {
        self.schema.is_some() || self.guard.is_some() || self.unique_key.is_some()
    }
}

impl crate::Runtime {
    /// The JSON Schema of a type's payloads, as it was declared.
    pub fn schema(&self, job_type: &TypeName) -> Option<Arc<Value>> {
        let active = self.inner.active();
        active.compiled_type(job_type.as_str())?.declared_schema.clone()
    }

    /// Whether a schema, guard or key of a type may refuse a job without a payload.
    pub fn reads_payload(&self, job_type: &TypeName) -> bool {
        self.inner.active().compiled_type(job_type.as_str()).is_some_and(CompiledType::reads_payload)
    }
}

#[derive(Debug)]
pub(crate) struct ActiveDefinitions {
    pub(crate) catalog: Catalog,
    compiled_types: BTreeMap<TypeName, CompiledType>,
}

impl ActiveDefinitions {
    /// `older`: versions from the store that existing jobs follow.
    pub(crate) fn compile(definitions: &Definitions, older: Vec<Lifecycle>) -> Result<Self, String> {
        let mut catalog = Catalog::default();
        for lifecycle in older.into_iter().chain(definitions.lifecycles.iter().cloned()) {
            catalog.add_lifecycle(lifecycle);
        }
        let mut compiled_types = BTreeMap::new();
        for definition in &definitions.types {
            catalog.add_type(job_type(definition, &catalog)?)?;
            compiled_types.insert(definition.name.as_str().into(), compile_type(definition)?);
        }
        catalog.check_compensations()?;
        Ok(Self { catalog, compiled_types })
    }

    pub(crate) fn compiled_type(&self, job_type: &str) -> Option<&CompiledType> {
        self.compiled_types.get(job_type).or_else(|| self.compiled_types.get(CATCH_ALL))
    }
}

fn compile_type(definition: &TypeDefinition) -> Result<CompiledType, String> {
    let name = &definition.name;
    let schema = definition.schema.as_ref().map(Schema::parse).transpose();
    let guard = definition.guard.as_deref().map(Guard::parse).transpose();
    let schema = schema.map_err(|flaw| format!("the schema of type {name}: {}", flaw.message))?;
    let place =
        |flaw: GuardFlaw| format!("the guard of type {name}, at byte {}: {}", flaw.start, flaw.message);
    let key = definition.unique.as_ref().map(|unique| KeyExpression::parse(&unique.key)).transpose();
    let key = key
        .map_err(|flaw| format!("the unique key of type {name}, at byte {}: {}", flaw.start, flaw.message));
    let declared_schema = definition.schema.clone().map(Arc::new);
    Ok(CompiledType { schema, declared_schema, guard: guard.map_err(place)?, unique_key: key? })
}

fn job_type(definition: &TypeDefinition, catalog: &Catalog) -> Result<JobType, String> {
    let name = &definition.name;
    let lifecycle = catalog.newest(&definition.lifecycle).ok_or_else(|| {
        format!("type {name} follows lifecycle {}, which does not exist", definition.lifecycle)
    })?;
    let mut job_type = JobType::following(name, lifecycle);
    let policy = &mut job_type.policy;
    policy.max_attempts = definition.max_attempts.unwrap_or(policy.max_attempts);
    policy.lease = definition.lease.unwrap_or(policy.lease);
    policy.heartbeat = definition.heartbeat.unwrap_or(policy.heartbeat);
    policy.cancel_grace = definition.cancel_grace.unwrap_or(policy.cancel_grace);
    policy.backoff = definition.backoff.unwrap_or(policy.backoff);
    if !(1..=limits::ATTEMPTS_MAX).contains(&policy.max_attempts) {
        return Err(format!("type {name}: max_attempts must be from 1 to {}", limits::ATTEMPTS_MAX));
    }
    if policy.lease.0 < limits::LEASE_MS_MIN || policy.heartbeat.0 == 0 {
        return Err(format!("type {name}: a lease lasts at least 1s, and a heartbeat is longer than 0s"));
    }
    job_type.cost = definition.cost;
    job_type.priority = definition.priority;
    job_type.queue = definition.queue.as_deref().map_or(job_type.queue, Into::into);
    job_type.compensate_with = definition.compensate_with.as_deref().map(Into::into);
    job_type.payload_bytes_max = definition.payload_bytes_max.unwrap_or(job_type.payload_bytes_max);
    job_type.timeouts =
        definition.timeouts.iter().map(|(state, span)| (state.as_str().into(), *span)).collect();
    job_type.unique = definition.unique.as_ref().map(|unique| unique.rule);
    Ok(job_type)
}
