//! Checks assets: the object of an asset exists until the asset is discarded or its job is deleted, and is deleted after
//! that; so is the object of an upload that became no asset.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::limits::UPLOAD_IDLE_MS_MAX;

use crate::auditor::Violation;
use crate::prelude::*;
use crate::ready;

/// Garbage is deleted within this time, if nodes run.
const DELETION: Millis = Millis::seconds(12);

#[derive(Debug, Default)]
pub(super) struct AssetModel {
    /// By storage path.
    objects: BTreeMap<String, ObjectModel>,
}

#[derive(Debug)]
struct ObjectModel {
    job: JobId,
    /// When it is garbage, unless an asset needs it.
    kept_until: Timestamp,
}

impl AssetModel {
    pub(super) fn uploads(&self) -> u64 {
        self.objects.len() as u64
    }

    /// An upload wrote an object.
    pub(super) fn written(&mut self, path: &str, job: JobId, now: Timestamp) {
        let kept_until = now + Millis(UPLOAD_IDLE_MS_MAX);
        self.objects.insert(path.to_owned(), ObjectModel { job, kept_until });
    }

    /// Compares the objects that exist with the assets.
    pub(super) fn check(
        &mut self,
        store: &Store,
        existing: &BTreeSet<String>,
        now: Timestamp,
        stable_since: Option<Timestamp>,
    ) -> Option<Violation> {
        let mut violation = None;
        for (path, object) in &mut self.objects {
            let (exists, is_needed) = (existing.contains(path), needs(store, object.job, path));
            if is_needed {
                object.kept_until = object.kept_until.max(now);
            }
            let due = stable_since.map(|since| since.max(object.kept_until) + DELETION);
            let what = match (exists, is_needed) {
                (false, true) => (8, format!("the object {path} of an asset was deleted")),
                (true, false) if due.is_some_and(|due| due < now) => {
                    (10, format!("the object {path} still exists at {now}, and no asset needs it"))
                }
                _ => continue,
            };
            violation = violation.or(Some(Violation::new(what.0, Some(object.job), what.1)));
        }
        violation
    }
}

/// Whether the job has an asset with this object that was not discarded.
fn needs(store: &Store, job: JobId, path: &str) -> bool {
    let assets = ready(store.assets(job, None, usize::MAX)).unwrap_or_default();
    assets.iter().any(|asset| {
        asset.stored && asset.discarded_at.is_none() && asset.storage_path.as_deref() == Some(path)
    })
}
