//! The assets of a job, with thumbnails, and downloads with the credentials of the dashboard.

use http::{HeaderMap, HeaderValue, header};
use tenure_core::asset::Asset;
use tenure_service::assets::content;
use tenure_service::assets::name::file_name;
use tenure_service::extract::AssetPath;

use crate::prelude::*;
use crate::pretty::size;

/// The newest assets are shown.
const SHOWN: usize = 50;
/// Larger images have no thumbnail.
const THUMBNAIL_BYTES_MAX: u64 = 4 << 20;

/// The newest assets, and one more if there are further ones.
pub(super) async fn newest(service: &Service, id: JobId) -> Result<Vec<Asset>> {
    Ok(service.store().assets(id, None, SHOWN + 1).await?)
}

pub(super) fn list(assets: &[Asset]) -> Markup {
    html! {
        @if assets.is_empty() {
            p.quiet { "None. Workers add assets with " code { "POST /api/jobs/{id}/assets" } ", programs of " code { "tenure work" } " with " code { "::asset TYPE FILE" } "." }
        } @else {
            @if assets.len() > SHOWN { p.hint { "The newest " (SHOWN) "; " code { "tenure job assets" } " lists all." } }
            (table("Assets, newest first", &["Name", "Type", "Size", "Added"], &html! {
                @for asset in assets.iter().take(SHOWN) { (row(asset)) }
            }))
        }
    }
}

/// An asset as a link, with a thumbnail if it is a small image.
pub(super) fn named(asset: &Asset) -> Markup {
    let here = format!("{}/assets/{}", job_address(asset.job_id), asset.id);
    let is_stored = asset.stored && asset.discarded_at.is_none();
    let is_small = asset.file_size.is_some_and(|bytes| bytes <= THUMBNAIL_BYTES_MAX);
    let name = file_name(asset.storage_path.as_deref().unwrap_or(&asset.url));
    html! {
        @if is_stored && is_small && image_type(asset).is_some() {
            a href=(here) { img.thumb src=(here) alt=(cut(&name, 100)) loading="lazy" width="64" height="64"; } " "
        }
        @if is_stored {
            a href=(here) { (cut(&name, 120)) }
        } @else if asset.stored {
            (cut(&name, 120)) " " span.quiet { "discarded" @if let Some(at) = asset.discarded_at { " " (when(at)) } }
        } @else {
            a href=(asset.url) rel="noopener noreferrer" { (cut(&asset.url, 120)) }
        }
    }
}

fn row(asset: &Asset) -> Markup {
    html! {
        tr {
            th scope="row" { (named(asset)) }
            td { (asset.asset_type) }
            td { @if let Some(bytes) = asset.file_size { (size(bytes)) } @else { span.quiet { "unknown" } } }
            td { (when(asset.created_at)) }
        }
    }
}

/// Content types that a browser may show: image formats without scripts.
fn image_type(asset: &Asset) -> Option<&'static str> {
    let name = file_name(asset.storage_path.as_deref()?).to_ascii_lowercase();
    let kinds = [
        (".png", "image/png"),
        (".jpg", "image/jpeg"),
        (".jpeg", "image/jpeg"),
        (".gif", "image/gif"),
        (".webp", "image/webp"),
    ];
    kinds.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, kind)| kind)
}

/// `GET /ui/jobs/{id}/assets/{asset}`: the content as a download, or shown if it is an image.
pub(crate) async fn content(
    visitor: Visitor,
    path: AssetPath,
    params: QueryParams,
    headers: HeaderMap,
) -> Reply {
    params.done()?;
    let (asset, mut response) = content::open(&visitor.dashboard, &visitor.caller, path, &headers).await?;
    if let Some(kind) = image_type(&asset).filter(|_| response.status().is_success()) {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    }
    Ok(response)
}
