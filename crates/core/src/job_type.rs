//! Types and the catalog of what is in force: which lifecycle a type follows, and its policy. Compiled once, then data.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{QueueName, StateName, TypeName};
use crate::job::LifecycleRef;
use crate::lifecycle::{Lifecycle, Policy, Trigger};
use crate::limits;
use crate::time::Millis;

/// A named kind of job. Schema and guard are the runtime's: they are checked before a command is made.
#[derive(Clone, Debug, PartialEq)]
pub struct JobType {
    /// Its name; `*` is the catch-all.
    pub name: TypeName,
    /// The lifecycle that new jobs follow.
    pub lifecycle: LifecycleRef,
    /// The lifecycle's policy, with the type's own values in its place.
    pub policy: Policy,
    /// State timeouts of its own.
    pub timeouts: Vec<(StateName, Millis)>,
    /// Credits that a job reserves.
    pub cost: u64,
    /// Where new jobs go unless they say otherwise.
    pub queue: QueueName,
    /// What new jobs get unless they say otherwise.
    pub priority: i32,
    /// The type whose job undoes this one's effects.
    pub compensate_with: Option<TypeName>,
    /// The largest payload.
    pub payload_bytes_max: usize,
}

impl JobType {
    /// A type that follows a lifecycle and says nothing else.
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
        }
    }
}

/// Lifecycles and types in force.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    lifecycles: BTreeMap<LifecycleRef, Arc<Lifecycle>>,
    types: BTreeMap<TypeName, Arc<JobType>>,
}

/// The name of the type that stands for every other.
pub const CATCH_ALL: &str = "*";

impl Catalog {
    /// Adds a lifecycle; the same name and version again replaces it.
    pub fn add_lifecycle(&mut self, lifecycle: Lifecycle) {
        let key = LifecycleRef { name: lifecycle.name.clone(), version: lifecycle.version };
        self.lifecycles.insert(key, Arc::new(lifecycle));
    }

    /// Adds a type, or says why it cannot be in force.
    pub fn add_type(&mut self, job_type: JobType) -> Result<(), String> {
        let lifecycle = self.lifecycle(&job_type.lifecycle).ok_or_else(|| {
            format!(
                "type {} follows lifecycle {}, which is not there",
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

    /// Says which type names a compensation type that is not there.
    pub fn check_compensations(&self) -> Result<(), String> {
        for job_type in self.types.values() {
            if let Some(with) =
                job_type.compensate_with.as_ref().filter(|with| self.job_type(with.as_str()).is_none())
            {
                return Err(format!("type {} compensates with {with}, which is not there", job_type.name));
            }
        }
        Ok(())
    }

    /// The lifecycle of this name and version.
    pub fn lifecycle(&self, key: &LifecycleRef) -> Option<&Arc<Lifecycle>> {
        self.lifecycles.get(key)
    }

    /// The newest version of this name.
    pub fn newest(&self, name: &str) -> Option<&Arc<Lifecycle>> {
        self.lifecycles.values().rfind(|lifecycle| lifecycle.name == name)
    }

    /// Every lifecycle, by name and version.
    pub fn lifecycles(&self) -> impl Iterator<Item = &Arc<Lifecycle>> {
        self.lifecycles.values()
    }

    /// The type of this name, or the catch-all.
    pub fn job_type(&self, name: &str) -> Option<&Arc<JobType>> {
        self.types.get(name).or_else(|| self.types.get(CATCH_ALL))
    }

    /// Every type, by name.
    pub fn types(&self) -> impl Iterator<Item = &Arc<JobType>> {
        self.types.values()
    }
}
