//! Writes assets of jobs, and garbage records of their objects.

use super::statements::{DISCARD_ASSETS, DISCARD_OBJECTS, FORGET_GARBAGE, INSERT_ASSET, PUT_GARBAGE};
use super::write::Writes;
use crate::prelude::*;
use crate::records;
use crate::row::ColumnWriter as _;

/// Garbage records first, then discarded assets, then new ones.
pub(super) fn write<'a>(writes: &mut Writes<'a>, set: &'a WorkingSet) {
    let changes = &set.changes;
    writes.add(&PUT_GARBAGE, &changes.assets.garbage, |row| {
        row.with(|(path, _)| path.as_str()).with(|(_, due)| *due);
    });
    writes.add(&DISCARD_OBJECTS, changes.assets.discarded.keys(), |row| {
        row.with(|job| job.0);
    });
    writes.add(&DISCARD_ASSETS, &changes.assets.discarded, |row| {
        row.with(|(job, _)| job.0).with(|(_, at)| *at);
    });
    let new = changes.assets.added.iter().filter(|asset| !changes.jobs.purged.contains(&asset.job_id));
    writes.add(&INSERT_ASSET, new.clone(), records::asset_columns);
    let kept = new.filter(|asset| asset.stored && asset.discarded_at.is_none());
    let kept = kept.filter_map(|asset| asset.storage_path.as_ref());
    writes.add(&FORGET_GARBAGE, kept.chain(&changes.assets.forgotten), |row| {
        row.with(String::as_str);
    });
}
