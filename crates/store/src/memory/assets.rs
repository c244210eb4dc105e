//! The tables of assets and garbage records.

use std::collections::{BTreeMap, BTreeSet};

use crate::prelude::*;

#[derive(Debug, Default)]
pub(super) struct Assets {
    rows: BTreeMap<AssetId, Asset>,
    garbage: BTreeMap<String, Timestamp>,
}

impl Assets {
    pub(super) fn load(&self, reads: &Reads, set: &mut WorkingSet) {
        set.assets = reads.assets.iter().map(|job| (*job, self.of(*job).cloned().collect())).collect();
        set.garbage = super::tables::found(&self.garbage, &reads.garbage);
    }

    pub(super) fn write(&mut self, changes: &Changes) {
        self.garbage.extend(changes.assets.garbage.clone());
        for (job, at) in &changes.assets.discarded {
            self.discard_objects(*job);
            for asset in self.rows.values_mut().filter(|asset| asset.job_id == *job) {
                asset.discarded_at.get_or_insert(*at);
            }
        }
        for asset in changes.assets.added.iter().filter(|asset| !changes.jobs.purged.contains(&asset.job_id))
        {
            if let Some(path) = asset.storage_path.as_ref().filter(|_| holds_object(asset)) {
                self.garbage.remove(path);
            }
            self.rows.insert(asset.id, asset.clone());
        }
        for path in &changes.assets.forgotten {
            self.garbage.remove(path);
        }
    }

    pub(super) fn purge(&mut self, purged: &BTreeSet<JobId>) {
        for job in purged {
            self.discard_objects(*job);
            self.rows.retain(|_, asset| asset.job_id != *job);
        }
    }

    /// Marks the objects of a job as garbage, due at once.
    fn discard_objects(&mut self, job: JobId) {
        let held = self.rows.values().filter(|asset| asset.job_id == job && holds_object(asset));
        let paths: Vec<String> = held.filter_map(|asset| asset.storage_path.clone()).collect();
        self.garbage.extend(paths.into_iter().map(|path| (path, Timestamp(0))));
    }

    fn of(&self, job: JobId) -> impl DoubleEndedIterator<Item = &Asset> {
        self.rows.values().filter(move |asset| asset.job_id == job)
    }

    pub(super) fn list(&self, job: JobId, before: Option<AssetId>, limit: usize) -> Vec<Asset> {
        let older = self.of(job).rev().filter(|asset| before.is_none_or(|before| asset.id < before));
        older.take(limit).cloned().collect()
    }

    pub(super) fn one(&self, id: AssetId) -> Option<Asset> {
        self.rows.get(&id).cloned()
    }

    pub(super) fn garbage(&self, now: Timestamp, limit: usize) -> Vec<String> {
        let due = self.garbage.iter().filter(|(_, due)| **due <= now).map(|(path, due)| (*due, path));
        due.collect::<BTreeSet<_>>().into_iter().take(limit).map(|(_, path)| path.clone()).collect()
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &JobId> {
        self.rows.values().map(|asset| &asset.job_id)
    }
}

fn holds_object(asset: &Asset) -> bool {
    asset.stored && asset.discarded_at.is_none()
}
