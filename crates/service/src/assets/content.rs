//! An asset's content as an HTTP response.

use std::ops::Range;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tenure_core::asset::Asset;

use super::name::{content_disposition, file_name};
use super::range::{RequestedRange, requested_range};
use crate::extract::{AssetPath, Reply};
use crate::prelude::*;

pub async fn find(service: &Service, caller: &Caller, path: AssetPath) -> Result<Asset> {
    caller.may(Right::ReadJobs)?;
    service.job(caller, path.job).await?;
    let asset = service.store().asset(path.asset).await?.filter(|asset| asset.job_id == path.job);
    asset.ok_or_else(|| Problem::not_found("asset", path.asset))
}

/// An asset and the response to a request for its content: all of it, a range, or "not modified".
pub async fn open(
    service: &Service,
    caller: &Caller,
    path: AssetPath,
    headers: &HeaderMap,
) -> Result<(Asset, Response)> {
    let asset = find(service, caller, path).await?;
    let response = content(service, &asset, headers).await?;
    Ok((asset, response))
}

async fn content(service: &Service, asset: &Asset, headers: &HeaderMap) -> Reply {
    let gone = |why: &str| Problem::new(ProblemCode::NotFound, format!("asset {}: {why}", asset.id));
    if asset.discarded_at.is_some() {
        return Err(gone("its content was discarded when the job was cancelled"));
    }
    let path = asset.storage_path.as_deref().filter(|_| asset.stored);
    let path = path.ok_or_else(|| gone("its content is not stored here; download it from its url"))?;
    let contents = service.contents().ok_or_else(|| gone("this server has no storage for assets"))?;
    let (size, tag) = (asset.file_size.unwrap_or_default(), format!("\"{}\"", asset.id));
    let header_of = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if header_of(header::IF_NONE_MATCH).is_some_and(|tags| tags == "*" || tags.contains(&tag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let is_same = header_of(header::IF_RANGE).is_none_or(|same| same == tag);
    let range = match requested_range(header_of(header::RANGE).filter(|_| is_same), size) {
        RequestedRange::All => None,
        RequestedRange::Part(range) => Some(range),
        RequestedRange::Unsatisfiable => return Ok(unsatisfiable(size)),
    };
    let read = contents.read(path, range.clone()).await.map_err(|error| match error {
        object_store::Error::NotFound { .. } => {
            tracing::error!(path, "asset content missing");
            gone("its content is missing from the storage; see the server's log")
        }
        error => {
            tracing::error!(%error, path, "asset storage failed");
            Problem::new(ProblemCode::StoreUnavailable, "the asset storage cannot be read now; try again")
                .retry_after(5)
        }
    })?;
    Ok(respond(asset, tag, range, Body::from_stream(read.into_stream())))
}

/// A download: browsers must never render uploaded content as a page of this server.
fn respond(asset: &Asset, tag: String, range: Option<Range<u64>>, content: Body) -> Response {
    let size = asset.file_size.unwrap_or_default();
    let file = file_name(asset.storage_path.as_deref().unwrap_or_default());
    let length = range.as_ref().map_or(size, |range| range.end - range.start);
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    let text = |text: String| HeaderValue::try_from(text).expect("the value is printable ASCII");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_DISPOSITION, text(content_disposition(&file)));
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
    let problem = Problem::new(ProblemCode::RangeNotSatisfiable, format!("the content has {size} bytes"));
    let mut response = problem.into_response();
    let range = HeaderValue::try_from(format!("bytes */{size}")).expect("the value is printable ASCII");
    response.headers_mut().insert(header::CONTENT_RANGE, range);
    response
}
