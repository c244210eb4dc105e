//! Declarations of flow control in `tenure.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{Name, QueueName, ResourceName, TypeName};
use crate::job_type::CATCH_ALL;
use crate::limits;
use crate::time::Millis;

/// All declarations of a node. Those of the node that started last are in force on every node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Declarations {
    pub resources: BTreeMap<ResourceName, Resource>,
    /// Types without flow control are not here. `*` is the catch-all type.
    pub types: BTreeMap<TypeName, TypeFlow>,
    pub queues: BTreeMap<QueueName, QueueFlow>,
}

/// A limit for all jobs that use it, or with a key for the jobs of each value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resource {
    /// An expression over `payload`, `user_id`, `type` and `queue`.
    pub key: Option<String>,
    pub limits: Limits,
}

/// The limits of each bucket. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Units of live leases at once.
    pub running: Option<u64>,
    pub rate: Option<Rate>,
    /// Unfinished jobs.
    pub waiting: Option<u64>,
}

/// A token bucket: `count` tokens in each span `per`, and at most `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub count: u64,
    pub per: Millis,
    pub burst: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TypeFlow {
    pub uses: Vec<ResourceDemand>,
    pub sequence: Option<Sequence>,
    pub batch: Option<Batch>,
}

/// Units of a resource that each lease of a type's jobs uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceDemand {
    pub resource: ResourceName,
    pub units: u64,
}

/// Jobs with the same key are claimed one after the other, in order of creation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    pub key: String,
    pub on_failure: OnFailure,
}

/// What happens to a sequence whose first job ends without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// It stops until an operator resumes it.
    Halt,
    Continue,
}

/// Jobs with the same key are claimed in groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    pub size: u64,
    /// How long the oldest job of an incomplete group waits.
    pub wait: Millis,
    pub key: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueFlow {
    pub share: Option<Share>,
    /// The effective priority of a ready job grows by one for each such span.
    pub aging: Option<Millis>,
}

/// Keys get leases in proportion to their weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub key: String,
    pub weights: BTreeMap<Name, u64>,
    pub default_weight: u64,
}

impl Share {
    pub fn weight(&self, key: Option<&Name>) -> u64 {
        key.and_then(|key| self.weights.get(key)).copied().unwrap_or(self.default_weight)
    }
}

impl TypeFlow {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Declarations {
    /// The flow control of a type. That of the catch-all type applies to types that are not declared; a declared type without any
    /// has an empty entry beside it.
    pub fn job_type(&self, job_type: &str) -> Option<&TypeFlow> {
        let found = self.types.get(job_type).or_else(|| self.types.get(CATCH_ALL));
        found.filter(|flow| !flow.is_empty())
    }

    /// The largest number of units that one job uses of a resource.
    pub fn units_max(&self, resource: &str) -> u64 {
        let demands = self.types.values().flat_map(|flow| &flow.uses);
        demands.filter(|demand| demand.resource == *resource).map(|demand| demand.units).max().unwrap_or(0)
    }

    /// Whether jobs of the queue and the type may be claimed in another order than by priority and age.
    pub fn apply(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        self.queues.contains_key(queue) || self.job_type(job_type.as_str()).is_some()
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why limits cannot be in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct LimitFlaw {
    /// `running`, `rate` or `waiting`.
    pub field: &'static str,
    pub detail: String,
}

impl Limits {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Finds values that are out of range, and limits under which a job that uses `units` could never run.
    pub fn check(&self, units: u64) -> Result<(), LimitFlaw> {
        let flaw = |field, detail: String| Err(LimitFlaw { field, detail });
        for (field, value) in [("running", self.running), ("waiting", self.waiting)] {
            if value.is_some_and(|value| !in_range(value)) {
                return flaw(field, format!("`{field}` must be from 1 to {}", limits::FLOW_COUNT_MAX));
            }
        }
        if let Some(running) = self.running.filter(|running| *running < units) {
            return flaw("running", format!("a job uses {units} units, more than `running` = {running}"));
        }
        let Some(rate) = self.rate else { return Ok(()) };
        if !in_range(rate.count) || !in_range(rate.burst) {
            return flaw("rate", format!("`count` and `burst` must be from 1 to {}", limits::FLOW_COUNT_MAX));
        }
        if rate.per.0 == 0 || rate.per.0 > limits::FLOW_SPAN_MS_MAX {
            return flaw("rate", format!("`per` must be from 1ms to {}", Millis(limits::FLOW_SPAN_MS_MAX)));
        }
        if rate.burst < rate.count {
            return flaw("rate", format!("`burst` is {}, less than `count` = {}", rate.burst, rate.count));
        }
        if rate.burst < units {
            return flaw("rate", format!("a job uses {units} units, more than `burst` = {}", rate.burst));
        }
        Ok(())
    }
}

fn in_range(value: u64) -> bool {
    (1..=limits::FLOW_COUNT_MAX).contains(&value)
}
