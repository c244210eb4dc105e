//! A job's assets: list, upload, register, download.

use axum::body::Body as Content;
use axum::extract::{FromRequest as _, Request};
use sha2::{Digest as _, Sha256};
use tenure_core::asset::{AssetId, NewAsset, Upload};
use tenure_core::command::Holder;
use tenure_service::assets::content;
use tenure_service::assets::name::{self, storage_path};
use tenure_service::body::declared_length;
use tenure_service::extract::AssetPath;
use tenure_service::fields::name as given_name;

use crate::assets::upload::{Received, RunningUpload, too_large};
use crate::headers::idempotency_key;
use crate::http::prelude::*;
use crate::http::reports::optional_holder;

pub(crate) async fn list(call: CallContext, Id(id): Id, mut params: QueryParams) -> Reply {
    let cursor = |text: &str| job_id(text).map(|JobId(id)| AssetId(id));
    let (before, limit) = (params.read("cursor", "a cursor of an earlier answer", cursor)?, params.limit()?);
    params.done()?;
    call.job(id).await?;
    let assets = call.store().assets(id, before, limit).await?;
    let next = next_cursor(&assets, limit, |asset| asset.id.to_string());
    page(CallId::ListJobAssets, assets.iter().map(wire::asset).collect(), next)
}

/// An upload describes its body in the query; a registration is JSON.
pub(crate) async fn add(call: CallContext, Id(id): Id, mut params: QueryParams, request: Request) -> Reply {
    if let Some(asset_type) = params.name("asset_type")? {
        return upload(call, id, asset_type, params, request).await;
    }
    params.done()?;
    let body = Body::from_request(request, &call).await?;
    register(&call, id, body).await
}

async fn register(call: &CallContext, id: JobId, body: Body<request::NewAsset>) -> Reply {
    let request::NewAsset { asset_type, url, storage_path, file_size, worker, fence } = body.value;
    let holder = optional_holder(given_name("#/worker", worker)?, fence, |field| incomplete("#/", field))?;
    let asset_type = given_name("#/asset_type", Some(asset_type))?.expect("a given name is checked");
    let is_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    let is_url = is_web && !url.contains(|c: char| c.is_control() || c.is_whitespace());
    require(is_url, "#/url", "must be a URL that begins with http:// or https://")?;
    let is_plain = storage_path.as_ref().is_none_or(|path| !path.contains(char::is_control));
    require(is_plain, "#/storage_path", "must have no control characters")?;
    admit(call, id, holder.as_ref()).await?;
    let (asset, stored) = (AssetId(call.runtime().new_id().0), false);
    let new = NewAsset { id: asset, job: id, holder, asset_type, url, storage_path, file_size, stored };
    let output = call.submit(body.key, Command::AddAsset(Box::new(new))).await?;
    Ok(added(call, output))
}

/// Completes even if the caller disconnects.
async fn upload(
    call: CallContext,
    id: JobId,
    asset_type: Name,
    mut params: QueryParams,
    request: Request,
) -> Reply {
    let file = params.text("name").unwrap_or_else(|| "content".to_owned());
    if let Some(flaw) = name::flaw(&file) {
        return Err(Problem::malformed("?name", flaw));
    }
    let worker = params.name("worker")?;
    let holder =
        optional_holder(worker, params.number("fence", 0..=u64::MAX)?, |field| incomplete("?", field))?;
    params.done()?;
    let key = idempotency_key(request.headers())?;
    let contents = call.contents().cloned().ok_or_else(|| {
        Problem::invalid("#", "this server stores no asset contents: set `assets.store`, or register a URL")
    })?;
    let limit = call.limits().asset;
    if declared_length(request.headers()).is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let job = admit(&call, id, holder.as_ref()).await?;
    let asset = AssetId(call.runtime().new_id().0);
    let path = storage_path(job.spec.user_id.as_ref(), id, asset, &file);
    let promised = Upload { job: id, holder: holder.clone(), storage_path: path.clone(), continues: false };
    let uploading = RunningUpload::begin(call, contents, promised).await?;
    let url = format!("/api/jobs/{id}/assets/{asset}/content");
    let new = NewAsset {
        id: asset,
        job: id,
        holder,
        asset_type,
        url,
        storage_path: Some(path),
        file_size: None,
        stored: true,
    };
    let stored = tokio::spawn(store(uploading, new, key, file, request.into_body())).await;
    stored.unwrap_or_else(|_| Err(Problem::new(ProblemCode::StoreUnavailable, "the upload failed")))
}

/// Stores the object, then commits its row. Without the row, the object is deleted.
async fn store(
    mut uploading: RunningUpload,
    new: NewAsset,
    key: Option<String>,
    file: String,
    body: Content,
) -> Reply {
    let output = match uploading.receive(body).await {
        Ok(received) => {
            let key = key.map(|key| IdempotencyKey {
                key: key.into(),
                fingerprint: fingerprint(&[new.asset_type.as_str(), &file], &received),
            });
            let new = NewAsset { file_size: Some(received.bytes), ..new };
            let (by, command) = (uploading.call.caller.origin(), Command::AddAsset(Box::new(new)));
            match uploading.call.runtime().submit(CommandEnvelope { by, key, command }).await {
                Ok(answer) => answer.map_err(|refusal| uploading.refused(refusal)),
                // Whether it was committed is not known: the garbage record, if it still exists, decides.
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(problem) => Err(problem),
    };
    if !matches!(output, Ok(CommandOutput::Asset { replayed: false, .. })) {
        uploading.discard().await;
    }
    Ok(added(&uploading.call, output?))
}

/// The digest of everything that identifies an upload.
fn fingerprint(parts: &[&str], received: &Received) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(received.digest);
    hash.finalize().into()
}

fn added(app: &App, output: CommandOutput) -> Response {
    let CommandOutput::Asset { asset, replayed } = &output else {
        unreachable!("a new asset is answered with the asset")
    };
    let location = format!("/api/jobs/{}/assets/{}", asset.job_id, asset.id);
    let status = if *replayed { StatusCode::OK } else { StatusCode::CREATED };
    let mut response = output_reply(status, output, app.runtime().reading());
    set_location(&mut response, location);
    response
}

/// Worker and fence are given together.
fn incomplete(at: &str, field: &str) -> Problem {
    let other = if field == "worker" { "fence" } else { "worker" };
    Problem::malformed(format!("{at}{field}"), format!("is missing beside the {other}"))
}

/// Checks that the caller may add assets. The commit checks that the holder holds the lease.
async fn admit(call: &CallContext, id: JobId, holder: Option<&Holder>) -> Result<Arc<Job>> {
    let Some(Holder { worker, .. }) = holder else {
        call.caller.may(Right::ManageJobs)?;
        return call.managed_job(id).await;
    };
    call.caller.may(Right::Work)?;
    call.touch_worker(worker).await?;
    call.check_scope(id).await?;
    call.store().job(id).await?.ok_or_else(|| Problem::not_found("job", id))
}

pub(crate) async fn get(call: CallContext, path: AssetPath) -> Reply {
    ok(&wire::asset(&content::find(&call, &call.caller, path).await?))
}

pub(crate) async fn content(call: CallContext, path: AssetPath, headers: HeaderMap) -> Reply {
    Ok(content::open(&call, &call.caller, path, &headers).await?.1)
}
