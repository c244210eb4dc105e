//! Job types and the catalog of active lifecycles and types.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::flow::Unique;
use crate::id::{QueueName, StateName, TypeName};
use crate::job::LifecycleRef;
use crate::lifecycle::{Lifecycle, Policy, Trigger};
use crate::limits;
use crate::time::Millis;

/// Schema and guard are not here: the runtime checks them before it builds a command.
#[derive(Clone, Debug, PartialEq)]
pub struct JobType {
    /// `*` is the catch-all type.
    pub name: TypeName,
    pub lifecycle: LifecycleRef,
    /// The lifecycle's policy with the overrides of the type.
    pub policy: Policy,
    /// Overrides of state timeouts.
    pub timeouts: Vec<(StateName, Millis)>,
    pub cost: u64,
    /// Default for new jobs.
    pub queue: QueueName,
    /// Default for new jobs.
    pub priority: i32,
    /// The type of the job that compensates a failed one.
    pub compensate_with: Option<TypeName>,
    pub payload_bytes_max: usize,
    /// What happens to a new job with the key of another one.
    pub unique: Option<Unique>,
}

impl JobType {
    /// A type without overrides.
    pub fn following(name: &str, lifecycle: &Lifecycle) -> Self {
        Self {
            name: name.into(),
            lifecycle: LifecycleRef { name: lifecycle.name.clone(), version: lifecycle.version },
            policy: lifecycle.policy,
            timeouts: Vec::new(),
            cost: 0,
            queue: "default".into(),
            priority: 0,
            compensate_with: None,
            payload_bytes_max: limits::PAYLOAD_BYTES_MAX,
            unique: None,
        }
    }
}

/// The active lifecycles and types.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    lifecycles: BTreeMap<LifecycleRef, Arc<Lifecycle>>,
    types: BTreeMap<TypeName, Arc<JobType>>,
}

/// The compensations that lead from a type back to it, if they do. `with` is the compensation of a type.
pub fn compensation_cycle<'a>(
    start: &'a str,
    with: impl Fn(&str) -> Option<&'a str>,
) -> Option<Vec<&'a str>> {
    let mut chain = vec![start];
    while let Some(next) = with(chain[chain.len() - 1]) {
        let is_known = chain.contains(&next);
        chain.push(next);
        if is_known {
            // Otherwise it is a cycle of other types.
            return Some(chain).filter(|_| next == start);
        }
    }
    None
}

/// The name of the catch-all type.
pub const CATCH_ALL: &str = "*";

impl Catalog {
    /// Adds a lifecycle; the same name and version again replaces it.
    pub fn add_lifecycle(&mut self, lifecycle: Lifecycle) {
        let key = LifecycleRef { name: lifecycle.name.clone(), version: lifecycle.version };
        self.lifecycles.insert(key, Arc::new(lifecycle));
    }

    /// Adds a type, or says why it is not valid.
    pub fn add_type(&mut self, job_type: JobType) -> Result<(), String> {
        let lifecycle = self.lifecycle(&job_type.lifecycle).ok_or_else(|| {
            format!(
                "type {} follows lifecycle {}, which does not exist",
                job_type.name, job_type.lifecycle.name
            )
        })?;
        if job_type.cost > 0 && lifecycle.credits.is_none() {
            return Err(format!(
                "type {} costs credits, and lifecycle {} has no [credits]",
                job_type.name, lifecycle.name
            ));
        }
        for (state, _) in &job_type.timeouts {
            if !lifecycle.has_rule(state.as_str(), &Trigger::Timeout) {
                let (name, of) = (&job_type.name, &lifecycle.name);
                return Err(format!(
                    "type {name} has a timeout for {state}, and lifecycle {of} has no timeout rule there"
                ));
            }
        }
        self.types.insert(job_type.name.clone(), Arc::new(job_type));
        Ok(())
    }

    /// Reports a compensation type that does not exist, and types that compensate each other.
    pub fn check_compensations(&self) -> Result<(), String> {
        for job_type in self.types.values() {
            if let Some(with) =
                job_type.compensate_with.as_ref().filter(|with| self.job_type(with.as_str()).is_none())
            {
                return Err(format!("type {} compensates with {with}, which does not exist", job_type.name));
            }
        }
        let with = |name: &str| self.job_type(name)?.compensate_with.as_ref().map(TypeName::as_str);
        let mut declared = self.types.keys().map(TypeName::as_str).filter(|name| *name != CATCH_ALL);
        match declared.find_map(|name| compensation_cycle(name, with)) {
            Some(cycle) => Err(format!("types compensate each other without end: {}", cycle.join(" → "))),
            None => Ok(()),
        }
    }

    pub fn lifecycle(&self, key: &LifecycleRef) -> Option<&Arc<Lifecycle>> {
        self.lifecycles.get(key)
    }

    pub fn newest(&self, name: &str) -> Option<&Arc<Lifecycle>> {
        self.lifecycles.values().rfind(|lifecycle| lifecycle.name == name)
    }

    pub fn lifecycles(&self) -> impl Iterator<Item = &Arc<Lifecycle>> {
        self.lifecycles.values()
    }

    /// The type of this name, or the catch-all type.
    pub fn job_type(&self, name: &str) -> Option<&Arc<JobType>> {
        self.types.get(name).or_else(|| self.types.get(CATCH_ALL))
    }

    pub fn types(&self) -> impl Iterator<Item = &Arc<JobType>> {
        self.types.values()
    }
}
