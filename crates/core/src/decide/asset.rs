//! Assets: added under the fence or by the job's owner, discarded by a hard cancel. Not transitions.

use crate::asset::{Asset, NewAsset, Upload};
use crate::decide::report::fits;
use crate::decide::{Answer, Done, Scene, create, lease};
use crate::id::{Fence, JobId, Name};
use crate::limits;
use crate::refusal::Refusal;
use crate::time::Millis;

/// Promises an object to the garbage before it is written, and again while it is: what nobody makes an asset of in
/// time is deleted.
pub(crate) fn upload(scene: &mut Scene<'_>, upload: &Upload) -> Answer {
    may_add(scene, upload.job, upload.holder.as_ref())?;
    if upload.goes_on {
        still_promised(scene, &upload.storage_path)?;
    }
    hear(scene, upload.job, upload.holder.is_some());
    let due = scene.now.at + Millis(limits::UPLOAD_UNHEARD_MS_MAX);
    scene.set.promise_garbage(upload.storage_path.clone(), due);
    Ok(Done::Nothing)
}

/// Adds an asset, and takes its object back from the garbage.
pub(crate) fn add(scene: &mut Scene<'_>, new: &NewAsset) -> Answer {
    create::name_within_limits("#/asset_type", &new.asset_type)?;
    fits("url", new.url.len(), limits::URL_BYTES_MAX)?;
    fits("storage_path", new.storage_path.as_ref().map_or(0, String::len), limits::STORAGE_PATH_BYTES_MAX)?;
    if new.file_size.is_some_and(|size| size > limits::ASSET_BYTES_MAX) {
        return Err(Refusal::invalid("#/file_size", format!("must be at most {}", limits::ASSET_BYTES_MAX)));
    }
    may_add(scene, new.job, new.holder.as_ref())?;
    if let Some(path) = new.storage_path.as_ref().filter(|_| new.stored) {
        still_promised(scene, path)?;
    }
    hear(scene, new.job, new.holder.is_some());
    let asset = Asset {
        id: new.id,
        job_id: new.job,
        user_id: scene.job(new.job)?.spec.user_id.clone(),
        asset_type: new.asset_type.clone(),
        url: new.url.clone(),
        storage_path: new.storage_path.clone(),
        file_size: new.file_size,
        stored: new.stored,
        created_at: scene.now.at,
        discarded_at: None,
    };
    scene.set.add_asset(asset.clone());
    Ok(Done::Asset { asset: Box::new(asset), replayed: false })
}

/// The holder of the live lease, or whoever owns the job; and there is room for one more.
fn may_add(scene: &Scene<'_>, id: JobId, holder: Option<&(Name, Fence)>) -> Result<(), Refusal> {
    let job = scene.job(id)?;
    if let Some((worker, fence)) = holder
        && !lease::is_held_by(&job, worker, *fence)
    {
        return Err(lease::conflict(&job, Some(*fence)));
    }
    if scene.set.assets.get(&id).map_or(0, Vec::len) >= limits::ASSETS_MAX {
        return Err(Refusal::invalid("#", format!("a job has at most {} assets", limits::ASSETS_MAX)));
    }
    Ok(())
}

/// Every accepted verb of the holder counts as a heartbeat.
fn hear(scene: &mut Scene<'_>, job: JobId, by_holder: bool) {
    if by_holder {
        scene.hear(job, false);
    }
}

/// An object whose promise is nearly due may be deleted at any moment: it is lost. The margin is longer than a commit
/// can take, so that no object is deleted while it becomes an asset.
fn still_promised(scene: &Scene<'_>, path: &str) -> Result<(), Refusal> {
    let margin = Millis(limits::UPLOAD_MARGIN_MS);
    match scene.set.garbage.get(path) {
        Some(due) if scene.now.at + margin <= *due => Ok(()),
        Some(_) | None => Err(Refusal::NotFound { what: "upload", name: path.to_owned() }),
    }
}
