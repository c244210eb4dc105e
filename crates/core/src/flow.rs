//! Flow control: the limits and the order of claims that types, queues and resources declare.
//!
//! [`FlowKeys`] are evaluated when a job is created and stored on it. [`Declarations`] are those of the node that started last.
//! Limits over all nodes are exact because the numbers of [`FlowView`] are those of the commit that claims or creates.

mod bucket;
mod change;
mod declaration;
mod keys;
mod state;
mod view;

use crate::time::Millis;

pub use bucket::{Blocked, BucketUse, TokenLevel};
pub use change::{PauseRequest, ResourceChange};
pub use declaration::{
    Batch, Declarations, LimitFlaw, Limits, OnFailure, QueueFlow, Rate, Resource, ResourceDemand, Sequence,
    Share, TypeFlow,
};
pub use keys::{BatchKey, BucketId, FlowKeys, ResourceUse, SequenceId};
pub(crate) use state::scope_id;
pub use state::{
    FlowRecord, FlowRecordId, FlowRecordKind, FlowState, Halt, LimitOverride, Pause, PauseScope,
};
pub(crate) use view::Contribution;
pub use view::{Candidate, FlowView, Group};

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
