//! Assets of jobs, and garbage records of their objects.

use tenure_core::asset::{Asset, AssetId};
use tenure_core::id::{JobId, Name};
use tenure_core::time::Timestamp;
use tenure_core::working_set::WorkingSet;
use tokio_postgres::Row;
use uuid::Uuid;

use super::Node;
use super::read::rows_max;
use super::rows::{Param, get};
use super::statements::{
    ASSET, ASSET_GARBAGE, ASSETS, DISCARD_ASSETS, DISCARD_OBJECTS, FORGET_GARBAGE, INSERT_ASSET, PUT_GARBAGE,
};
use super::write::Writes;
use crate::StoreError;

/// Every column of `assets`.
pub(super) fn asset(row: &Row) -> Result<Asset, StoreError> {
    Ok(Asset {
        id: AssetId(get(row, 0)?),
        job_id: JobId(get(row, 1)?),
        user_id: get::<Option<&str>>(row, 2)?.map(Into::into),
        asset_type: Name::from(get::<&str>(row, 3)?),
        url: get(row, 4)?,
        storage_path: get(row, 5)?,
        file_size: get::<Option<i64>>(row, 6)?.map(|size| size as u64),
        stored: get(row, 7)?,
        created_at: Timestamp(get(row, 8)?),
        discarded_at: get::<Option<i64>>(row, 9)?.map(Timestamp),
    })
}

impl Node {
    pub(super) async fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> Result<Vec<Asset>, StoreError> {
        let before = before.map_or(Uuid::max(), |before| before.0);
        self.ask(&ASSETS, &[&job.0, &before, &rows_max(limit)]).await?.iter().map(asset).collect()
    }

    pub(super) async fn asset(&self, id: AssetId) -> Result<Option<Asset>, StoreError> {
        self.ask(&ASSET, &[&id.0]).await?.first().map(asset).transpose()
    }

    pub(super) async fn asset_garbage(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let now = self.now().await?.at.0;
        self.ask(&ASSET_GARBAGE, &[&now, &rows_max(limit)]).await?.iter().map(|row| get(row, 0)).collect()
    }
}

/// Garbage records first, then discarded assets, then new ones.
pub(super) fn write<'a>(writes: &mut Writes<'a>, set: &'a WorkingSet) {
    let changes = &set.changes;
    if !changes.assets.garbage.is_empty() {
        let paths: Vec<&str> = changes.assets.garbage.keys().map(String::as_str).collect();
        let due: Vec<i64> = changes.assets.garbage.values().map(|due| due.0).collect();
        writes.push(&PUT_GARBAGE, vec![Box::new(paths), Box::new(due)]);
    }
    if !changes.assets.discarded.is_empty() {
        let jobs: Vec<Uuid> = changes.assets.discarded.keys().map(|job| job.0).collect();
        let at: Vec<i64> = changes.assets.discarded.values().map(|at| at.0).collect();
        writes.push(&DISCARD_OBJECTS, vec![Box::new(jobs.clone())]);
        writes.push(&DISCARD_ASSETS, vec![Box::new(jobs), Box::new(at)]);
    }
    let new: Vec<&Asset> =
        changes.assets.added.iter().filter(|asset| !changes.jobs.purged.contains(&asset.job_id)).collect();
    if !new.is_empty() {
        writes.push(&INSERT_ASSET, columns(&new));
    }
    let kept = new.iter().filter(|asset| asset.stored && asset.discarded_at.is_none());
    let kept = kept.filter_map(|asset| asset.storage_path.as_deref());
    let done: Vec<&str> = kept.chain(changes.assets.forgotten.iter().map(String::as_str)).collect();
    if !done.is_empty() {
        writes.push(&FORGET_GARBAGE, vec![Box::new(done)]);
    }
}

fn columns<'a>(assets: &[&'a Asset]) -> Vec<Param<'a>> {
    vec![
        Box::new(assets.iter().map(|it| it.id.0).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.job_id.0).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.user_id.as_deref()).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.asset_type.as_str()).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.url.as_str()).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.storage_path.as_deref()).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.file_size.map(|size| size as i64)).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.stored).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.created_at.0).collect::<Vec<_>>()),
        Box::new(assets.iter().map(|it| it.discarded_at.map(|at| at.0)).collect::<Vec<_>>()),
    ]
}
