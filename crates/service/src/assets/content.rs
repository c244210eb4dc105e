//! An asset's content as an HTTP response.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tenure_core::asset::Asset;
use tenure_store::Store as _;

use super::name::{disposition, name_of};
use super::range::{Wanted, wanted};
use crate::caller::{Caller, Right};
use crate::extract::{Ids, Reply};
use crate::problem::{NOT_FOUND, Problem, RANGE_NOT_SATISFIABLE, STORE_UNAVAILABLE};
use crate::service::Service;

pub async fn found(service: &Service, caller: &Caller, Ids(job, id): Ids) -> Result<Asset, Problem> {
    caller.may(Right::See)?;
    service.job(caller, job).await?;
    let asset = service.store().asset(id).await?.filter(|asset| asset.job_id == job);
    asset.ok_or_else(|| Problem::not_found("asset", id))
}

/// An asset, and its content as an answer: whole, in part, or that the caller has it already.
pub async fn opened(
    service: &Service,
    caller: &Caller,
    ids: Ids,
    headers: &HeaderMap,
) -> Result<(Asset, Response), Problem> {
    let asset = found(service, caller, ids).await?;
    let response = opened_content(service, &asset, headers).await?;
    Ok((asset, response))
}

async fn opened_content(service: &Service, asset: &Asset, headers: &HeaderMap) -> Reply {
    let gone = |why: &str| Problem::new(&NOT_FOUND, format!("asset {}: {why}", asset.id));
    if asset.discarded_at.is_some() {
        return Err(gone("it was discarded when its job was cancelled"));
    }
    let path = asset.storage_path.as_deref().filter(|_| asset.stored);
    let path = path.ok_or_else(|| gone("its content is not kept here; its url says where"))?;
    let contents = service.contents().ok_or_else(|| gone("this server has no place for contents"))?;
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
    Ok(sent(asset, (tag, range), Body::from_stream(read.into_stream())))
}

/// To be saved, never to be shown: what a caller uploaded is not a page of ours.
fn sent(asset: &Asset, (tag, range): (String, Option<std::ops::Range<u64>>), content: Body) -> Response {
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
