//! The key expressions of flow control, compiled from the declarations in force, and evaluated for new jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::flow::{BatchKey, Declarations, FlowKeys, ResourceUse, TypeFlow};
use tenure_core::id::ResourceName;
use tenure_core::job_type::CATCH_ALL;

use crate::Inner;
use crate::guard::{KeyError, KeyExpression, KeyInput};
use crate::prelude::*;

#[derive(Debug, Default)]
pub(crate) struct CompiledFlow {
    declarations: Arc<Declarations>,
    types: BTreeMap<TypeName, CompiledTypeFlow>,
    /// The key of the share of each queue that has one.
    shares: BTreeMap<QueueName, KeyExpression>,
}

#[derive(Debug, Default)]
struct CompiledTypeFlow {
    uses: Vec<CompiledDemand>,
    sequence: Option<KeyExpression>,
    batch: Option<CompiledBatch>,
}

/// Groups of a type.
#[derive(Debug)]
struct CompiledBatch {
    /// `None` if all jobs of the type have one.
    key: Option<KeyExpression>,
}

#[derive(Debug)]
struct CompiledDemand {
    resource: ResourceName,
    key: Option<KeyExpression>,
    units: u64,
}

impl CompiledFlow {
    /// Or why the declarations are not valid.
    pub(crate) fn compile(declarations: &Arc<Declarations>) -> Result<Self, String> {
        let mut compiled = Self { declarations: Arc::clone(declarations), ..Self::default() };
        for (name, resource) in &declarations.resources {
            let flaw = resource.limits.check(declarations.units_max(name)).err();
            if let Some(flaw) = flaw {
                return Err(format!("resource {name}: {flaw}"));
            }
        }
        for (name, flow) in &declarations.types {
            let what = |part: &str| format!("the {part} key of type {name}");
            let mut uses = Vec::new();
            for demand in &flow.uses {
                let declared = declarations.resources.get(&demand.resource);
                let declared = declared.ok_or_else(|| {
                    format!("type {name} uses resource {}, which does not exist", demand.resource)
                })?;
                let what = format!("the key of resource {}", demand.resource);
                let key = declared.key.as_deref().map(|key| parse(key, &what)).transpose()?;
                uses.push(CompiledDemand { resource: demand.resource.clone(), key, units: demand.units });
            }
            let sequence = flow.sequence.as_ref().map(|sequence| parse(&sequence.key, &what("sequence")));
            let batch = flow.batch.as_ref().map(|batch| batch.key.as_deref());
            let parsed = |key: Option<&str>| key.map(|key| parse(key, &what("batch"))).transpose();
            let batch = batch.map(|key| parsed(key).map(|key| CompiledBatch { key })).transpose()?;
            compiled
                .types
                .insert(name.clone(), CompiledTypeFlow { uses, sequence: sequence.transpose()?, batch });
        }
        for (name, queue) in &declarations.queues {
            if let Some(share) = &queue.share {
                let key = parse(&share.key, &format!("the share key of queue {name}"))?;
                compiled.shares.insert(name.clone(), key);
            }
        }
        Ok(compiled)
    }

    fn job_type(&self, name: &str) -> Option<&CompiledTypeFlow> {
        // A declared type without flow control beside such a catch-all type has an entry without keys.
        self.types.get(name).or_else(|| self.types.get(CATCH_ALL))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.declarations.is_empty()
    }

    /// Whether a job of this type in this queue has keys.
    pub(crate) fn applies(&self, job_type: &TypeName, queue: &QueueName) -> bool {
        self.job_type(job_type.as_str()).is_some() || self.shares.contains_key(queue)
    }

    /// The keys of a job besides its unique key.
    pub(crate) fn keys(&self, input: &KeyInput<'_>) -> Result<FlowKeys, KeyError> {
        let value = |key: Option<&KeyExpression>| -> Result<Option<Name>, KeyError> {
            Ok(key.map(|key| key.value(input)).transpose()?.flatten().map(Into::into))
        };
        let mut keys = FlowKeys { share: value(self.shares.get(input.queue))?, ..FlowKeys::default() };
        let Some(flow) = self.job_type(input.job_type) else { return Ok(keys) };
        for CompiledDemand { resource, key, units } in &flow.uses {
            let bucket = value(key.as_ref())?;
            // Without a value the job is outside the rule.
            if key.is_none() || bucket.is_some() {
                keys.resources.push(ResourceUse { resource: resource.clone(), key: bucket, units: *units });
            }
        }
        keys.sequence = value(flow.sequence.as_ref())?;
        keys.batch = match &flow.batch {
            None => None,
            Some(CompiledBatch { key: None }) => Some(BatchKey::default()),
            Some(CompiledBatch { key }) => value(key.as_ref())?.map(|key| BatchKey { key: Some(key) }),
        };
        Ok(keys)
    }
}

fn parse(source: &str, what: &str) -> Result<KeyExpression, String> {
    KeyExpression::parse(source).map_err(|flaw| format!("{what}, at byte {}: {}", flaw.start, flaw.message))
}

impl crate::Runtime {
    /// The flow control of a type, as it was declared.
    pub fn type_flow(&self, job_type: &TypeName) -> Option<TypeFlow> {
        self.inner.flow().declarations.job_type(job_type.as_str()).cloned()
    }
}

impl Inner {
    pub(crate) fn flow(&self) -> Arc<CompiledFlow> {
        Arc::clone(&self.flow.read().expect("no thread panics while holding the lock"))
    }

    /// Puts the declarations of this node in force, on all nodes.
    pub(crate) async fn declare_flow(
        &self,
        declarations: &Arc<Declarations>,
    ) -> Result<(), crate::StartError> {
        let command = Command::DeclareFlow(Arc::clone(declarations));
        let envelope = CommandEnvelope { by: CommandOrigin::from("runtime"), key: None, command };
        match self.submit_once(envelope).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refusal)) => Err(crate::StartError::Definition(refusal.to_string())),
            Err(failure) => Err(crate::StartError::Register(failure)),
        }
    }

    /// Uses the declarations that a batch found in force: another node may have started with others.
    pub(crate) fn adopt_flow(&self, in_force: &Arc<Declarations>) {
        let known = self.flow();
        if Arc::ptr_eq(&known.declarations, in_force) {
            return;
        }
        let compiled = match CompiledFlow::compile(in_force) {
            Ok(compiled) => compiled,
            Err(flaw) => {
                return tracing::error!(flaw, "declarations of flow control in the store are not valid");
            }
        };
        if known.declarations != *in_force {
            let own = self.definitions.read().expect("no thread panics while holding the lock").flow.clone();
            if own != *in_force {
                tracing::warn!("flow control declarations differ from this node's; those in the store apply");
            }
        }
        *self.flow.write().expect("no thread panics while holding the lock") = Arc::new(compiled);
    }
}
