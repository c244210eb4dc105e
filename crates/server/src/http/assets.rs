//! A job's assets: listed, uploaded or registered by its worker, its owner or an operator, and downloaded by whoever
//! may see the job.

use axum::body::Body as Content;
use axum::extract::{FromRequest as _, FromRequestParts, Request, State};
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tenure_core::asset::{Asset, AssetId, NewAsset, Upload};
use tenure_core::command::{Command, GivenKey};
use tenure_core::decide::Done;
use tenure_core::id::{Fence, JobId, Name};
use tenure_core::wire;
use tenure_store::Store as _;

use crate::app::App;
use crate::assets::name::{self, disposition, name_of, storage_path};
use crate::assets::range::{Wanted, wanted};
use crate::assets::upload::{Received, Uploading, refused, too_large};
use crate::body::Body;
use crate::caller::{Caller, Right};
use crate::headers::idempotency_key;
use crate::http::{Id, Reply, Segments, done_reply, name as given_name, page};
use crate::problem::{NOT_FOUND, Problem, RANGE_NOT_SATISFIABLE, STORE_UNAVAILABLE, VALIDATION_FAILED};
use crate::query::{Given, job_id};

/// The worker and its fence; `None` for the job's owner or an operator.
type Holder = Option<(Name, Fence)>;

pub(crate) async fn list(State(app): State<App>, caller: Caller, Id(id): Id, mut given: Given) -> Reply {
    caller.may(Right::See)?;
    let cursor = |text: &str| job_id(text).map(|JobId(id)| AssetId(id));
    let (before, limit) = (given.read("cursor", "a cursor of an earlier answer", cursor)?, given.limit()?);
    given.done()?;
    app.job(&caller, id).await?;
    let assets = app.store().assets(id, before, limit).await?;
    let next = assets.last().filter(|_| assets.len() == limit).map(|asset| asset.id.to_string());
    page("assets", assets.iter().map(wire::asset).collect(), next)
}

/// An upload says in its query what the body is; a registration is all in the body.
pub(crate) async fn add(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    mut given: Given,
    request: Request,
) -> Reply {
    if let Some(asset_type) = given.name("asset_type")? {
        return upload(app, caller, (id, asset_type), given, request).await;
    }
    given.done()?;
    let body = Body::from_request(request, &app).await?;
    register(&app, &caller, id, body).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssetBody {
    asset_type: String,
    url: String,
    storage_path: Option<String>,
    file_size: Option<u64>,
    worker: Option<String>,
    fence: Option<u64>,
}

async fn register(app: &App, caller: &Caller, id: JobId, body: Body<AssetBody>) -> Reply {
    let AssetBody { asset_type, url, storage_path, file_size, worker, fence } = body.value;
    let holder = holder("#/", given_name("#/worker", worker)?, fence)?;
    let asset_type = given_name("#/asset_type", Some(asset_type))?.expect("it was given");
    let is_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    if !is_web || url.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(Problem::malformed("#/url", "must be a URL that begins with http:// or https://"));
    }
    if storage_path.as_ref().is_some_and(|path| path.contains(char::is_control)) {
        return Err(Problem::malformed("#/storage_path", "must have no control characters"));
    }
    admit(app, caller, id, holder.as_ref()).await?;
    let (asset, stored) = (AssetId(app.runtime().new_id().0), false);
    let new = NewAsset { id: asset, job: id, holder, asset_type, url, storage_path, file_size, stored };
    let done = app.submit(caller, body.key, Command::AddAsset(Box::new(new))).await?;
    Ok(added(app, done))
}

/// Ends what it began, also when its caller goes away meanwhile.
async fn upload(
    app: App,
    caller: Caller,
    (id, asset_type): (JobId, Name),
    mut given: Given,
    request: Request,
) -> Reply {
    let file = given.text("name").unwrap_or_else(|| "content".to_owned());
    if let Some(flaw) = name::flaw(&file) {
        return Err(Problem::malformed("?name", flaw));
    }
    let worker = given.name("worker")?;
    let holder = holder("?", worker, given.number("fence", (0, u64::MAX))?)?;
    given.done()?;
    let key = idempotency_key(request.headers())?;
    let contents = app.contents().cloned().ok_or_else(|| {
        let words = "this server has no place for contents: set `assets.store`, or register a URL";
        Problem::new(&VALIDATION_FAILED, words).with("errors", json!([{ "pointer": "#", "detail": words }]))
    })?;
    let said = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let limit = app.limits().asset;
    if said.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let job = admit(&app, &caller, id, holder.as_ref()).await?;
    let asset = AssetId(app.runtime().new_id().0);
    let path = storage_path(job.spec.user_id.as_ref(), id, asset, &file);
    let promised = Upload { job: id, holder: holder.clone(), storage_path: path.clone(), goes_on: false };
    let uploading = Uploading::begin(app.clone(), contents, caller.clone(), promised.clone()).await?;
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
    let stored = store(app, caller, (uploading, promised), (new, key, file), request.into_body());
    tokio::spawn(stored).await.unwrap_or_else(|_| Err(Problem::new(&STORE_UNAVAILABLE, "the upload broke")))
}

/// First the object, then its row. Where no row comes of it, the object goes.
async fn store(
    app: App,
    caller: Caller,
    (mut uploading, promised): (Uploading, Upload),
    (new, key, file): (NewAsset, Option<String>, String),
    body: Content,
) -> Reply {
    let done = match uploading.receive(body).await {
        Ok(received) => {
            let key = key.map(|key| GivenKey {
                key: key.into(),
                fingerprint: fingerprint(&[new.asset_type.as_str(), &file], &received),
            });
            let new = NewAsset { file_size: Some(received.bytes), ..new };
            let asked = tenure_core::command::Asked {
                by: caller.actor(),
                key,
                command: Command::AddAsset(Box::new(new)),
            };
            match app.runtime().submit(asked).await {
                Ok(answer) => answer.map_err(|refusal| refused(refusal, &promised)),
                // Whether it was committed is not known: the promise, if it is still there, decides.
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(problem) => Err(problem),
    };
    if !matches!(done, Ok(Done::Asset { replayed: false, .. })) {
        uploading.give_up().await;
    }
    Ok(added(&app, done?))
}

/// Of everything that an upload says: its repeat says the same.
fn fingerprint(words: &[&str], received: &Received) -> [u8; 32] {
    let mut hash = Sha256::new();
    for word in words {
        hash.update((word.len() as u64).to_be_bytes());
        hash.update(word);
    }
    hash.update(received.digest);
    hash.finalize().into()
}

fn added(app: &App, done: Done) -> Response {
    let location = match &done {
        Done::Asset { asset, .. } => format!("/api/jobs/{}/assets/{}", asset.job_id, asset.id),
        _ => unreachable!("a new asset is answered with the asset"),
    };
    let replayed = matches!(done, Done::Asset { replayed: true, .. });
    let status = if replayed { StatusCode::OK } else { StatusCode::CREATED };
    let mut response = done_reply(status, done, app.runtime().reading());
    let location = HeaderValue::try_from(location).expect("ids are plain");
    response.headers_mut().insert(header::LOCATION, location);
    response
}

fn holder(at: &str, worker: Option<Name>, fence: Option<u64>) -> Result<Holder, Problem> {
    match (worker, fence) {
        (Some(worker), Some(fence)) => Ok(Some((worker, Fence(fence)))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Problem::malformed(format!("{at}worker"), "is missing beside the fence")),
        (Some(_), None) => Err(Problem::malformed(format!("{at}fence"), "is missing beside the worker")),
    }
}

/// Whether the caller may try; whether the holder holds is the commit's to say.
async fn admit(
    app: &App,
    caller: &Caller,
    id: JobId,
    holder: Option<&(Name, Fence)>,
) -> Result<std::sync::Arc<tenure_core::job::Job>, Problem> {
    let Some((worker, _)) = holder else {
        caller.may(Right::Own)?;
        return app.job(caller, id).await;
    };
    caller.may(Right::Work)?;
    app.hear(caller, worker).await?;
    app.store().job(id).await?.ok_or_else(|| Problem::not_found("job", id))
}

/// The job and the asset of a path.
pub(crate) struct Ids(JobId, AssetId);

impl FromRequestParts<App> for Ids {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Segments(segments) = Segments::from_request_parts(parts, app).await?;
        let id = |place: usize, what: &str| {
            let text = segments.get(place).map(String::as_str).unwrap_or_default();
            let bad = || Problem::malformed("#", format!("`{}` is not {what}'s id", text.escape_debug()));
            job_id(text).ok_or_else(bad)
        };
        Ok(Self(id(0, "a job")?, AssetId(id(1, "an asset")?.0)))
    }
}

async fn found(app: &App, caller: &Caller, Ids(job, id): Ids) -> Result<Asset, Problem> {
    caller.may(Right::See)?;
    app.job(caller, job).await?;
    let asset = app.store().asset(id).await?.filter(|asset| asset.job_id == job);
    asset.ok_or_else(|| Problem::not_found("asset", id))
}

pub(crate) async fn get(State(app): State<App>, caller: Caller, ids: Ids, given: Given) -> Reply {
    given.done()?;
    crate::http::ok(&wire::asset(&found(&app, &caller, ids).await?))
}

pub(crate) async fn content(
    State(app): State<App>,
    caller: Caller,
    ids: Ids,
    given: Given,
    headers: HeaderMap,
) -> Reply {
    given.done()?;
    Ok(opened(&app, &caller, ids, &headers).await?.1)
}

/// An asset, and its content as an answer: whole, in part, or that the caller has it already.
pub(crate) async fn opened(
    app: &App,
    caller: &Caller,
    ids: Ids,
    headers: &HeaderMap,
) -> Result<(Asset, Response), Problem> {
    let asset = found(app, caller, ids).await?;
    let response = opened_content(app, &asset, headers).await?;
    Ok((asset, response))
}

async fn opened_content(app: &App, asset: &Asset, headers: &HeaderMap) -> Reply {
    let gone = |why: &str| Problem::new(&NOT_FOUND, format!("asset {}: {why}", asset.id));
    if asset.discarded_at.is_some() {
        return Err(gone("it was discarded when its job was cancelled"));
    }
    let path = asset.storage_path.as_deref().filter(|_| asset.stored);
    let path = path.ok_or_else(|| gone("its content is not kept here; its url says where"))?;
    let contents = app.contents().ok_or_else(|| gone("this server has no place for contents"))?;
    let (size, tag) = (asset.file_size.unwrap_or_default(), format!("\"{}\"", asset.id));
    let said = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if said(header::IF_NONE_MATCH).is_some_and(|tags| tags == "*" || tags.contains(&tag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let is_same = said(header::IF_RANGE).is_none_or(|same| same == tag);
    let range = match wanted(said(header::RANGE).filter(|_| is_same), size) {
        Wanted::All => None,
        Wanted::Part(range) => Some(range),
        Wanted::Nothing => return Ok(unsatisfiable(size)),
    };
    let read = contents.read(path, range.clone()).await.map_err(|error| match error {
        object_store::Error::NotFound { .. } => {
            tracing::error!(path, "the content of an asset is not where it was put");
            gone("its content is not where it was put; the server's operator finds more in the log")
        }
        error => {
            tracing::error!(%error, path, "the place of assets failed");
            Problem::new(&STORE_UNAVAILABLE, "the place of assets cannot be read now").retry_after(5)
        }
    })?;
    Ok(sent(asset, (tag, range), Content::from_stream(read.into_stream())))
}

/// To be saved, never to be shown: what a caller uploaded is not a page of ours.
fn sent(asset: &Asset, (tag, range): (String, Option<std::ops::Range<u64>>), content: Content) -> Response {
    let size = asset.file_size.unwrap_or_default();
    let file = name_of(asset.storage_path.as_deref().unwrap_or_default());
    let length = range.as_ref().map_or(size, |range| range.end - range.start);
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    let text = |text: String| HeaderValue::try_from(text).expect("it is printable ASCII");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_DISPOSITION, text(disposition(&file)));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::ETAG, text(tag));
    if let Some(range) = range {
        headers
            .insert(header::CONTENT_RANGE, text(format!("bytes {}-{}/{size}", range.start, range.end - 1)));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}

fn unsatisfiable(size: u64) -> Response {
    let problem = Problem::new(&RANGE_NOT_SATISFIABLE, format!("the content has {size} bytes"));
    let mut response = problem.into_response();
    let range = HeaderValue::try_from(format!("bytes */{size}")).expect("it is printable ASCII");
    response.headers_mut().insert(header::CONTENT_RANGE, range);
    response
}
