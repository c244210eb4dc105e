//! Names and numbers, each a type of its own: two arguments of one type are a mistake waiting to be made.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A job's id: a version-7 UUID, made by whoever submits the creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub Uuid);

impl JobId {
    /// A version-7 id from a time and 74 bits of chance (the rest of `chance` is ignored).
    pub fn new(unix_ms: u64, chance: u128) -> Self {
        let bytes = chance.to_be_bytes();
        let mut tail = [0u8; 10];
        tail.copy_from_slice(&bytes[6..]);
        Self(uuid::Builder::from_unix_timestamp_millis(unix_ms, &tail).into_uuid())
    }

    /// The id as a number: the seed of everything that looks random about the job.
    pub fn seed(self) -> u128 {
        self.0.as_u128()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number that tells a lease from the ones before it. Per job, only grows; 0 is "never leased".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl Fence {
    /// The fence of the lease after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in the journal: events are read from after one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

/// A short shared text: the name of a state, a type, a queue, a worker, a user. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(pub Arc<str>);

impl Name {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who did it, as history says it: `worker:w1`, `user:u1`, `operator:ann`, `clock`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(pub Arc<str>);

impl Actor {
    /// Time itself: timeouts, lost leases, due times, grace that ran out.
    pub fn clock() -> Self {
        Self("clock".into())
    }

    /// Whether it is one of those whose actions on others' jobs leave a trail.
    pub fn oversees(&self) -> bool {
        ["operator:", "admin:"].iter().any(|role| self.0.starts_with(role))
    }

    /// A worker, by its name.
    pub fn worker(name: &Name) -> Self {
        Self(["worker:", name.as_str()].concat().into())
    }
}

impl From<&str> for Actor {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
