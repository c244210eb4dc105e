//! Assets: files that the work on a job produced. The content is an object in Tenure's asset store, or at a URL.
//!
//! Objects and rows are in two stores that cannot commit together. So each object gets a garbage record before its first
//! byte is written, and the commit that adds the asset removes the record. Without that commit the object is deleted when
//! the record is due.

use crate::command::Holder;
pub use crate::id::AssetId;
use crate::id::{JobId, Name, UserId};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    pub id: AssetId,
    pub job_id: JobId,
    pub user_id: Option<UserId>,
    pub asset_type: Name,
    pub url: String,
    /// Path in the asset store if `stored`; otherwise informative.
    pub storage_path: Option<String>,
    pub file_size: Option<u64>,
    /// Whether the content is in Tenure's asset store.
    pub stored: bool,
    pub created_at: Timestamp,
    /// When the content was deleted.
    pub discarded_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAsset {
    pub id: AssetId,
    pub job: JobId,
    /// `None` for the job's owner or an operator.
    pub holder: Option<Holder>,
    pub asset_type: Name,
    pub url: String,
    pub storage_path: Option<String>,
    pub file_size: Option<u64>,
    /// Whether the content was written to Tenure's asset store after an [`Upload`].
    pub stored: bool,
}

/// The upload of an asset's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    pub job: JobId,
    /// `None` for the job's owner or an operator.
    pub holder: Option<Holder>,
    pub storage_path: String,
    /// `false` when the upload begins.
    pub continues: bool,
}
