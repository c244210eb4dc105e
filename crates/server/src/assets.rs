//! Uploads of asset contents, and deletion of contents that no asset needs.

pub(crate) mod garbage;
pub(crate) mod upload;
