//! Writes assets of jobs, and garbage records of their objects.

use rusqlite::params;

use crate::prelude::*;
use crate::sqlite::Writer;
use crate::{Result, records};

impl Writer {
    /// Garbage records first, then discarded assets, then new ones.
    pub(super) fn write_assets(&self, changes: &Changes) -> Result<()> {
        for (path, due) in &changes.assets.garbage {
            self.statement(include_str!("sql/put_garbage.sql"))?.execute(params![path, due.0])?;
        }
        for (job, at) in &changes.assets.discarded {
            let job = job.0.as_bytes().as_slice();
            self.statement(include_str!("sql/discard_objects.sql"))?.execute([job])?;
            self.statement(include_str!("sql/discard_assets.sql"))?.execute(params![job, at.0])?;
        }
        let added = changes.assets.added.iter();
        let added = added.filter(|asset| !changes.jobs.purged.contains(&asset.job_id));
        self.put(include_str!("sql/insert_asset.sql"), added.clone(), records::asset_columns)?;
        let kept = added.filter(|asset| asset.stored && asset.discarded_at.is_none());
        let kept = kept.filter_map(|asset| asset.storage_path.as_ref());
        for path in kept.chain(&changes.assets.forgotten) {
            self.statement(include_str!("sql/forget_garbage.sql"))?.execute([path])?;
        }
        Ok(())
    }
}
