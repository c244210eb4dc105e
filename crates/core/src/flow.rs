//! Flow control: what a type declares, and the keys that its jobs have.

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::id::Name;
use crate::time::Millis;

/// The values of the key expressions of a job's type, evaluated for this job. A job whose expression has no value is outside
/// that rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<Name>,
}

impl FlowKeys {
    /// For a [`crate::job::Spec`]: most jobs have no keys, and all of them share one value.
    pub fn shared(self) -> Arc<Self> {
        static NOTHING: LazyLock<Arc<FlowKeys>> = LazyLock::new(Arc::default);
        if self.is_empty() { Arc::clone(&NOTHING) } else { Arc::new(self) }
    }

    /// Whether no rule applies.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens to a new job if its type has another one with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unique {
    pub among: Among,
    pub on_conflict: OnConflict,
}

/// The jobs that a new one is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Those in ready and waiting states.
    Waiting,
    Unfinished,
    /// Those created within this span, finished ones included.
    Created(Millis),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The caller gets the existing job.
    Return,
    Refuse,
    /// The existing job gets the values of the new one, if it is ready or waiting.
    Replace,
    /// The same, and it runs `delay` later, but not later than `max_delay` after its creation.
    Postpone {
        delay: Millis,
        max_delay: Option<Millis>,
    },
    /// Existing jobs are cancelled.
    Cancel,
}
