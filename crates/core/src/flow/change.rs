//! Requests of workers and operators to change a resource.

use super::state::LimitOverride;
use crate::id::{Name, ResourceName};
use crate::time::Millis;

/// A worker's request to pause the bucket that its job uses of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseRequest {
    pub resource: ResourceName,
    pub span: Millis,
}

/// An operator's change of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceChange {
    /// Overrides the limits of the file.
    Set(LimitOverride),
    /// Removes the override.
    Reset,
    /// Pauses all buckets, or one.
    Pause {
        key: Option<Name>,
        /// `None`: until it is resumed.
        span: Option<Millis>,
    },
    /// Ends the pauses of all buckets, or of one.
    Resume { key: Option<Name> },
}

impl ResourceChange {
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Set(_) => "set-resource",
            Self::Reset => "reset-resource",
            Self::Pause { .. } => "pause-resource",
            Self::Resume { .. } => "resume-resource",
        }
    }
}
