//! Assets of jobs, and garbage records of their objects.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use tenure_core::asset::{Asset, AssetId};
use tenure_core::id::JobId;
use tenure_core::time::Timestamp;
use tenure_core::working_set::{Changes, Reads, WorkingSet};
use uuid::Uuid;

use crate::StoreError;
use crate::sqlite::Writer;
use crate::sqlite::read::all;
use crate::sqlite::rows::{fault, uuid};

fn bytes(id: &Uuid) -> &[u8] {
    id.as_bytes().as_slice()
}

fn asset(row: &Row<'_>) -> rusqlite::Result<Asset> {
    Ok(Asset {
        id: AssetId(uuid(row, 0)?),
        job_id: JobId(uuid(row, 1)?),
        user_id: row.get::<_, Option<String>>(2)?.map(Into::into),
        asset_type: row.get::<_, String>(3)?.into(),
        url: row.get(4)?,
        storage_path: row.get(5)?,
        file_size: row.get::<_, Option<i64>>(6)?.map(|size| size as u64),
        stored: row.get(7)?,
        created_at: Timestamp(row.get(8)?),
        discarded_at: row.get::<_, Option<i64>>(9)?.map(Timestamp),
    })
}

/// Newest first.
pub(super) fn list(
    connection: &Connection,
    job: JobId,
    before: Option<AssetId>,
    limit: usize,
) -> Result<Vec<Asset>, StoreError> {
    let before = before.map_or(Uuid::max(), |before| before.0);
    let values = params![bytes(&job.0), bytes(&before), i64::try_from(limit).unwrap_or(i64::MAX)];
    all(connection, include_str!("sql/assets.sql"), values, |row| asset(row).map_err(fault))
}

pub(super) fn one(connection: &Connection, id: AssetId) -> Result<Option<Asset>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/asset.sql")).map_err(fault)?;
    statement.query_row([bytes(&id.0)], asset).optional().map_err(fault)
}

pub(super) fn garbage(
    connection: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let values = params![now.0, limit as i64];
    all(connection, include_str!("sql/asset_garbage.sql"), values, |row| row.get(0).map_err(fault))
}

pub(super) fn load(connection: &Connection, reads: &Reads, set: &mut WorkingSet) -> Result<(), StoreError> {
    for job in &reads.assets {
        let mut found = list(connection, *job, None, usize::MAX)?;
        found.reverse();
        set.assets.insert(*job, found);
    }
    for path in &reads.garbage {
        let mut statement = connection.prepare_cached(include_str!("sql/load_garbage.sql")).map_err(fault)?;
        let due = statement.query_row([path], |row| row.get(0)).optional().map_err(fault)?;
        set.garbage.extend(due.map(|due| (path.clone(), Timestamp(due))));
    }
    Ok(())
}

impl Writer {
    /// Garbage records first, then discarded assets, then new ones.
    pub(super) fn write_assets(&self, changes: &Changes) -> Result<(), StoreError> {
        for (path, due) in &changes.assets.garbage {
            self.statement(include_str!("sql/put_garbage.sql"))?
                .execute(params![path, due.0])
                .map_err(fault)?;
        }
        for (job, at) in &changes.assets.discarded {
            self.statement(include_str!("sql/discard_objects.sql"))?
                .execute([bytes(&job.0)])
                .map_err(fault)?;
            let mut discard = self.statement(include_str!("sql/discard_assets.sql"))?;
            discard.execute(params![bytes(&job.0), at.0]).map_err(fault)?;
        }
        for asset in changes.assets.added.iter().filter(|asset| !changes.jobs.purged.contains(&asset.job_id))
        {
            self.insert_asset(asset)?;
            if asset.stored && asset.discarded_at.is_none() {
                self.forget_garbage(asset.storage_path.as_deref().unwrap_or_default())?;
            }
        }
        changes.assets.forgotten.iter().try_for_each(|path| self.forget_garbage(path))
    }

    fn insert_asset(&self, asset: &Asset) -> Result<(), StoreError> {
        let row = params![
            bytes(&asset.id.0),
            bytes(&asset.job_id.0),
            asset.user_id.as_deref(),
            asset.asset_type.as_str(),
            asset.url,
            asset.storage_path,
            asset.file_size.map(|size| size as i64),
            asset.stored,
            asset.created_at.0,
            asset.discarded_at.map(|at| at.0),
        ];
        self.statement(include_str!("sql/insert_asset.sql"))?.execute(row).map(drop).map_err(fault)
    }

    fn forget_garbage(&self, path: &str) -> Result<(), StoreError> {
        self.statement(include_str!("sql/forget_garbage.sql"))?.execute([path]).map(drop).map_err(fault)
    }
}
