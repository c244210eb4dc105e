//! Assets: what the work on a job left behind. Its content is an object of ours, or somebody else's that a URL names.
//!
//! Objects and rows are in two stores that cannot commit together, so every object of ours is promised to the garbage
//! before its first byte is written. The commit that makes an asset of it takes the promise back; one that never comes
//! leaves it, and the object is deleted when the promise is due.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{Fence, JobId, Name};
use crate::time::Timestamp;

/// An asset's id: a version-7 UUID, made by whoever submits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AssetId(pub Uuid);

impl fmt::Display for AssetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One asset of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its id.
    pub id: AssetId,
    /// Whose job's.
    pub job_id: JobId,
    /// The job's owner.
    pub user_id: Option<Name>,
    /// What kind of thing it is, in its maker's words.
    pub asset_type: Name,
    /// Where its content is to be had.
    pub url: String,
    /// Where its content is kept. Only of an object of ours does it say which.
    pub storage_path: Option<String>,
    /// Bytes of its content.
    pub file_size: Option<u64>,
    /// Whether its content is an object of ours.
    pub stored: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// Since when its content is not to be had any more.
    pub discarded_at: Option<Timestamp>,
}

/// A new asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAsset {
    /// Made by the caller's side.
    pub id: AssetId,
    /// For which job.
    pub job: JobId,
    /// The worker and its fence; `None` for the job's owner or an operator.
    pub holder: Option<(Name, Fence)>,
    /// What kind of thing it is.
    pub asset_type: Name,
    /// Where its content is to be had.
    pub url: String,
    /// Where its content is kept.
    pub storage_path: Option<String>,
    /// Bytes of its content.
    pub file_size: Option<u64>,
    /// Whether its content is an object of ours, written after an [`Upload`] was promised.
    pub stored: bool,
}

/// An object that is about to be written, or still is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// For which job.
    pub job: JobId,
    /// The worker and its fence; `None` for the job's owner or an operator.
    pub holder: Option<(Name, Fence)>,
    /// Where the object will be.
    pub storage_path: String,
    /// Whether it goes on; else it begins.
    pub goes_on: bool,
}
