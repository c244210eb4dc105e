//! Assets: added by the lease holder or the job's owner, discarded by a hard cancel. Not transitions.

use crate::asset::{Asset, NewAsset, Upload};
use crate::command::Holder;
use crate::command_origin::CommandOrigin;
use crate::decide::lease::Presented;
use crate::decide::report::fits;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, create, lease};
use crate::id::JobId;
use crate::limits;
use crate::refusal::Refusal;
use crate::time::Millis;

/// Writes the garbage record of an upload, and postpones it while the upload continues. An object that does not become an
/// asset in time is deleted.
pub(crate) fn upload(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    upload: &Upload,
) -> CommandResult {
    check_may_add(context, by, upload.job, upload.holder.as_ref())?;
    if upload.continues {
        check_garbage_record(context, &upload.storage_path)?;
    }
    renew(context, upload.job, upload.holder.is_some());
    let due = context.now.at + Millis(limits::UPLOAD_IDLE_MS_MAX);
    context.set.put_garbage(upload.storage_path.clone(), due);
    Ok(CommandOutput::Nothing)
}

/// Adds an asset and removes the garbage record of its object.
pub(crate) fn add(context: &mut DecisionContext<'_>, by: &CommandOrigin, new: &NewAsset) -> CommandResult {
    create::name_within_limits("#/asset_type", &new.asset_type)?;
    fits("url", new.url.len(), limits::URL_BYTES_MAX)?;
    fits("storage_path", new.storage_path.as_ref().map_or(0, String::len), limits::STORAGE_PATH_BYTES_MAX)?;
    if new.file_size.is_some_and(|size| size > limits::ASSET_BYTES_MAX) {
        return Err(Refusal::invalid("#/file_size", format!("must be at most {}", limits::ASSET_BYTES_MAX)));
    }
    check_may_add(context, by, new.job, new.holder.as_ref())?;
    if let Some(path) = new.storage_path.as_ref().filter(|_| new.stored) {
        check_garbage_record(context, path)?;
    }
    renew(context, new.job, new.holder.is_some());
    let asset = Asset {
        id: new.id,
        job_id: new.job,
        user_id: context.job(new.job)?.spec.user_id.clone(),
        asset_type: new.asset_type.clone(),
        url: new.url.clone(),
        storage_path: new.storage_path.clone(),
        file_size: new.file_size,
        stored: new.stored,
        created_at: context.now.at,
        discarded_at: None,
    };
    context.set.add_asset(asset.clone());
    Ok(CommandOutput::Asset { asset: Box::new(asset), replayed: false })
}

/// Only the lease holder, the owner or an operator may add assets, up to the limit.
fn check_may_add(
    context: &DecisionContext<'_>,
    by: &CommandOrigin,
    id: JobId,
    holder: Option<&Holder>,
) -> Result<(), Refusal> {
    let job = context.job(id)?;
    if let Some(holder) = holder {
        lease::check(&job, &Presented::holder(by, holder))?;
    }
    if context.set.assets.get(&id).map_or(0, Vec::len) >= limits::ASSETS_MAX {
        return Err(Refusal::invalid("#", format!("a job has at most {} assets", limits::ASSETS_MAX)));
    }
    Ok(())
}

/// Every accepted verb of the holder counts as a heartbeat.
fn renew(context: &mut DecisionContext<'_>, job: JobId, by_holder: bool) {
    if by_holder {
        context.renew_lease(job, false);
    }
}

/// An object whose garbage record is nearly due may be deleted at any moment, so its upload is refused. The margin is
/// longer than a commit can take, so that no object is deleted while it becomes an asset.
fn check_garbage_record(context: &DecisionContext<'_>, path: &str) -> Result<(), Refusal> {
    let margin = Millis(limits::UPLOAD_MARGIN_MS);
    match context.set.garbage.get(path) {
        Some(due) if context.now.at + margin <= *due => Ok(()),
        Some(_) | None => Err(Refusal::NotFound { what: "upload", name: path.to_owned() }),
    }
}
