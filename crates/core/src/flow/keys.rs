//! The keys of a job: the values of the key expressions that apply to it.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::id::{Name, ResourceName, TypeName};

/// The values of the key expressions of a job's type and queue, evaluated for this job. A job whose expression has no value is
/// outside that rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<Name>,
    /// What each lease of the job uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchKey>,
    /// The order of creation among jobs of types with a sequence; 0 in jobs of other types. An amendment keeps it.
    #[serde(skip_serializing_if = "is_zero")]
    pub place: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde says how this is called")]
fn is_zero(place: &u64) -> bool {
    *place == 0
}

/// Units of one bucket of a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceUse {
    pub resource: ResourceName,
    /// `None` if the resource has no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Name>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub units: u64,
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde says how this is called")]
fn is_one(units: &u64) -> bool {
    *units == 1
}

/// The jobs that are claimed in groups: those of a type with the same key, or all, if the declaration has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Name>,
}

/// A resource, and the key of one of its buckets; without a key the resource has one bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BucketId {
    pub resource: ResourceName,
    pub key: Option<Name>,
}

/// The jobs of a type with the same sequence key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId {
    pub job_type: TypeName,
    pub key: Name,
}

impl fmt::Display for BucketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}[{key}]", self.resource),
            None => self.resource.fmt(f),
        }
    }
}

impl fmt::Display for SequenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.job_type, self.key)
    }
}

impl ResourceUse {
    pub fn bucket(&self) -> BucketId {
        BucketId { resource: self.resource.clone(), key: self.key.clone() }
    }
}

impl FlowKeys {
    /// For a [`crate::job::Spec`]: most jobs have no keys, and all of them share one value.
    pub fn shared(self) -> Arc<Self> {
        if self.is_empty() { Self::none() } else { Arc::new(self) }
    }

    /// The shared value of jobs without keys.
    pub fn none() -> Arc<Self> {
        static NOTHING: LazyLock<Arc<FlowKeys>> = LazyLock::new(Arc::default);
        Arc::clone(&NOTHING)
    }

    /// Whether no rule applies.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The sequence of a job of this type.
    pub fn sequence_of(&self, job_type: &TypeName) -> Option<SequenceId> {
        let key = self.sequence.clone()?;
        Some(SequenceId { job_type: job_type.clone(), key })
    }
}
