//! Stored records of flow control besides jobs: the declarations in force, overrides, pauses, halted sequences, and tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bucket::{Blocked, BucketUse, TokenLevel};
use super::declaration::{Declarations, Limits, Rate};
use super::keys::{BucketId, ResourceUse, SequenceId};
use crate::id::{Actor, JobId, Name, ResourceName, TypeName};
use crate::time::Timestamp;

/// Everything but tokens. Every node has it in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowState {
    pub declarations: Arc<Declarations>,
    pub overrides: BTreeMap<ResourceName, LimitOverride>,
    pub pauses: BTreeMap<PauseScope, Pause>,
    pub halts: BTreeMap<SequenceId, Halt>,
}

/// Limits that replace those of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitOverride {
    /// `None`: as in the file. `Some(None)`: no limit. Also in the next two.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub running: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub rate: Option<Option<Rate>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub waiting: Option<Option<u64>>,
}

/// A member that is present, null included.
#[allow(clippy::option_option, reason = "absent, null and a value are three meanings")]
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// All buckets of a resource, future ones too, or one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseScope {
    Resource(ResourceName),
    Bucket(BucketId),
}

impl PauseScope {
    pub fn resource(&self) -> &ResourceName {
        match self {
            Self::Resource(resource) | Self::Bucket(BucketId { resource, .. }) => resource,
        }
    }
}

/// No lease is granted until then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// `None`: until it is resumed.
    pub until: Option<Timestamp>,
    pub by: Actor,
    pub at: Timestamp,
}

impl Pause {
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// The longer of two pauses.
    #[must_use]
    pub fn or_longer(self, other: Self) -> Self {
        let end = |pause: &Self| pause.until.map_or(i64::MAX, |until| until.0);
        if end(&self) < end(&other) { other } else { self }
    }
}

/// A sequence that stopped because its first job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// The failed job.
    pub job: JobId,
    /// Its place in the sequence.
    pub place: u64,
    pub at: Timestamp,
}

/// A stored record.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowRecord {
    Declarations(Arc<Declarations>),
    Override(ResourceName, LimitOverride),
    Pause(PauseScope, Pause),
    Halt(SequenceId, Halt),
    /// With the time at which the bucket is full.
    Level(BucketId, TokenLevel, Timestamp),
}

/// The kinds of records, as they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowRecordKind {
    Declarations,
    Override,
    PausedResource,
    PausedBucket,
    Halt,
    Level,
}

impl FlowRecordKind {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Declarations, "declarations"),
        (Self::Override, "override"),
        (Self::PausedResource, "paused_resource"),
        (Self::PausedBucket, "paused_bucket"),
        (Self::Halt, "halt"),
        (Self::Level, "level"),
    ];

    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// The identity of a record: its kind, a name, and a key. The key of a bucket begins with `=`, so that an empty key is not a
/// missing one.
pub type FlowRecordId = (FlowRecordKind, String, String);

fn bucket_key(bucket: &BucketId) -> String {
    bucket.key.as_ref().map_or_else(String::new, |key| format!("={key}"))
}

fn bucket_of(name: &str, key: &str) -> BucketId {
    BucketId { resource: name.into(), key: key.strip_prefix('=').map(Name::from) }
}

impl FlowRecord {
    pub fn id(&self) -> FlowRecordId {
        match self {
            Self::Declarations(_) => (FlowRecordKind::Declarations, String::new(), String::new()),
            Self::Override(resource, _) => (FlowRecordKind::Override, resource.to_string(), String::new()),
            Self::Pause(scope, _) => scope_id(scope),
            Self::Halt(id, _) => (FlowRecordKind::Halt, id.job_type.to_string(), id.key.to_string()),
            Self::Level(bucket, ..) => {
                (FlowRecordKind::Level, bucket.resource.to_string(), bucket_key(bucket))
            }
        }
    }

    /// When it has no effect any more.
    pub fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::Declarations(_) | Self::Override(..) | Self::Halt(..) => None,
            Self::Pause(_, pause) => pause.until,
            Self::Level(_, _, full_at) => Some(*full_at),
        }
    }

    pub fn body(&self) -> Value {
        let value = match self {
            Self::Declarations(declarations) => serde_json::to_value(declarations),
            Self::Override(_, limits) => serde_json::to_value(limits),
            Self::Pause(_, pause) => serde_json::to_value(pause),
            Self::Halt(_, halt) => serde_json::to_value(halt),
            Self::Level(_, level, _) => serde_json::to_value(level),
        };
        value.expect("records have text keys and finite numbers")
    }

    /// The record of an id, or `None` if its body is not one.
    pub fn parse(id: &FlowRecordId, body: &str, expires_at: Option<Timestamp>) -> Option<Self> {
        let (kind, name, key) = id;
        Some(match kind {
            FlowRecordKind::Declarations => {
                Self::Declarations(serde_json::from_str(body).map(Arc::new).ok()?)
            }
            FlowRecordKind::Override => {
                Self::Override(name.as_str().into(), serde_json::from_str(body).ok()?)
            }
            FlowRecordKind::PausedResource => {
                Self::Pause(PauseScope::Resource(name.as_str().into()), serde_json::from_str(body).ok()?)
            }
            FlowRecordKind::PausedBucket => {
                Self::Pause(PauseScope::Bucket(bucket_of(name, key)), serde_json::from_str(body).ok()?)
            }
            FlowRecordKind::Halt => {
                let id = SequenceId { job_type: TypeName::from(name.as_str()), key: key.as_str().into() };
                Self::Halt(id, serde_json::from_str(body).ok()?)
            }
            FlowRecordKind::Level => {
                Self::Level(bucket_of(name, key), serde_json::from_str(body).ok()?, expires_at?)
            }
        })
    }
}

/// The id of the record of a pause.
pub(crate) fn scope_id(scope: &PauseScope) -> FlowRecordId {
    match scope {
        PauseScope::Resource(resource) => {
            (FlowRecordKind::PausedResource, resource.to_string(), String::new())
        }
        PauseScope::Bucket(bucket) => {
            (FlowRecordKind::PausedBucket, bucket.resource.to_string(), bucket_key(bucket))
        }
    }
}

impl FlowState {
    /// Applies a stored record, or its removal. Tokens are not part of the state.
    pub fn apply(&mut self, id: &FlowRecordId, record: Option<&FlowRecord>) {
        match record {
            Some(FlowRecord::Declarations(declarations)) => self.declarations = Arc::clone(declarations),
            Some(FlowRecord::Override(resource, limits)) => {
                self.overrides.insert(resource.clone(), *limits);
            }
            Some(FlowRecord::Pause(scope, pause)) => {
                self.pauses.insert(scope.clone(), pause.clone());
            }
            Some(FlowRecord::Halt(id, halt)) => {
                self.halts.insert(id.clone(), halt.clone());
            }
            Some(FlowRecord::Level(..)) => {}
            None => self.remove(id),
        }
    }

    fn remove(&mut self, (kind, name, key): &FlowRecordId) {
        match kind {
            FlowRecordKind::Declarations => self.declarations = Arc::default(),
            FlowRecordKind::Override => drop(self.overrides.remove(name.as_str())),
            FlowRecordKind::PausedResource => {
                self.pauses.remove(&PauseScope::Resource(name.as_str().into()));
            }
            FlowRecordKind::PausedBucket => {
                self.pauses.remove(&PauseScope::Bucket(bucket_of(name, key)));
            }
            FlowRecordKind::Halt => {
                let id = SequenceId { job_type: name.as_str().into(), key: key.as_str().into() };
                self.halts.remove(&id);
            }
            FlowRecordKind::Level => {}
        }
    }

    /// The limits in force; none if the resource is not declared.
    pub fn limits(&self, resource: &ResourceName) -> Limits {
        let Some(declared) = self.declarations.resources.get(resource) else { return Limits::default() };
        self.overridden(resource, declared.limits)
    }

    /// Declared limits with the override of the resource.
    pub fn overridden(&self, resource: &ResourceName, declared: Limits) -> Limits {
        let Some(changed) = self.overrides.get(resource) else { return declared };
        changed.over(declared)
    }

    /// The pause that keeps a bucket from granting leases now.
    pub fn pause(&self, bucket: &BucketId, now: Timestamp) -> Option<&Pause> {
        // A pause of a resource that is not declared any more has no effect: it could not be resumed.
        if self.pauses.is_empty() || !self.declarations.resources.contains_key(&bucket.resource) {
            return None;
        }
        let scopes = [PauseScope::Resource(bucket.resource.clone()), PauseScope::Bucket(bucket.clone())];
        let found =
            scopes.iter().filter_map(|scope| self.pauses.get(scope)).filter(|pause| !pause.is_over(now));
        found.max_by_key(|pause| pause.until.map_or(i64::MAX, |until| until.0))
    }

    /// Why a lease that uses a bucket like this cannot be granted now.
    pub fn blocked(&self, demand: &ResourceUse, bucket: &BucketUse, now: Timestamp) -> Option<Blocked> {
        if let Some(pause) = self.pause(&demand.bucket(), now) {
            return Some(Blocked::Paused(pause.until));
        }
        bucket.blocked(&self.limits(&demand.resource), demand.units, now)
    }
}

impl LimitOverride {
    /// These limits instead of declared ones.
    pub fn over(&self, declared: Limits) -> Limits {
        Limits {
            running: self.running.unwrap_or(declared.running),
            rate: self.rate.unwrap_or(declared.rate),
            waiting: self.waiting.unwrap_or(declared.waiting),
        }
    }
}
