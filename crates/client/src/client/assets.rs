//! Assets: output of a job, uploaded to the server or registered by URL.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::try_unfold;
use reqwest::Body;
use serde_json::json;
use tenure_api::{Asset, CallId};

use super::transport::{CALL_TIMEOUT, Request};
use super::{Client, Listing, fresh_id};
use crate::error::{Error, Result};
use crate::request::{Holder, NewAsset, Page, to_value};

/// How much of an open file is read at a time.
const PIECE_BYTES: u64 = 128 << 10;
/// The slowest connection on which an upload succeeds.
const UPLOAD_BYTES_PER_SECOND: u64 = 16 << 10;

/// The content of an upload: bytes, or a file, which is read while it is sent.
#[derive(Clone, Debug)]
pub enum Content {
    Bytes(Bytes),
    File(PathBuf),
    /// A file that the caller has opened, from its beginning.
    Open(OpenFile),
}

impl Content {
    /// A file that is named is opened anew for each try.
    pub(super) async fn body(&self) -> Result<Body> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone().into()),
            Self::File(file) => {
                let opened = tokio::fs::File::open(file).await;
                opened.map(Body::from).map_err(|why| Error::Protocol(format!("{}: {why}", file.display())))
            }
            Self::Open(file) => {
                let length = file.length().map_err(|why| Error::Protocol(format!("the file: {why}")))?;
                Ok(file.clone().body(length))
            }
        }
    }

    /// Its length, if it is known in advance.
    pub(super) async fn length(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File(file) => tokio::fs::metadata(file).await.ok().map(|found| found.len()),
            Self::Open(file) => file.length().ok(),
        }
    }
}

/// A file that was opened before its upload: another file that takes its path meanwhile is not read.
#[derive(Clone, Debug)]
pub struct OpenFile(Arc<Mutex<File>>);

impl From<File> for OpenFile {
    fn from(file: File) -> Self {
        Self(Arc::new(Mutex::new(file)))
    }
}

impl OpenFile {
    fn length(&self) -> io::Result<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).metadata().map(|found| found.len())
    }

    /// This many bytes from its beginning.
    fn body(self, length: u64) -> Body {
        let piece = move |at: u64| {
            let file = self.clone();
            async move {
                if at == length {
                    return Ok(None);
                }
                let read = move || file.piece(at, PIECE_BYTES.min(length - at));
                let piece = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
                let next = at + piece.len() as u64;
                Ok::<_, io::Error>(Some((piece, next)))
            }
        };
        Body::wrap_stream(try_unfold(0, piece))
    }

    /// Up to this many bytes at a position. Tries do not disturb each other: each read sets the position.
    fn piece(&self, at: u64, length: u64) -> io::Result<Bytes> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        let mut piece = vec![0; length as usize];
        let count = file.read(&mut piece)?;
        piece.truncate(count);
        if piece.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        Ok(piece.into())
    }
}

macro_rules! content_from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Content {
            fn from(content: $type) -> Self {
                Self::$variant(content.into())
            }
        }
    )*};
}
content_from!(Bytes => Bytes, Vec<u8> => Bytes, String => Bytes, &Path => File, PathBuf => File, File => Open);

impl Client {
    calls! {
        /// One asset.
        read asset(job, asset) -> Asset = GetJobAsset;
    }

    /// A job's assets, newest first.
    pub async fn assets(&self, job: &str, page: &Page) -> Result<Listing<Asset>> {
        self.listing(CallId::ListJobAssets, &[job], &[to_value("the page", page)?]).await
    }

    /// Uploads an asset under a file name: as the job's holder, or as its owner or an operator. Each try may take 30 seconds, and one
    /// second more for each 16 KiB.
    pub async fn upload(
        &self,
        job: &str,
        holder: Option<&Holder>,
        asset_type: &str,
        name: &str,
        content: impl Into<Content>,
    ) -> Result<Asset> {
        self.upload_keyed(job, holder, asset_type, name, content.into(), &fresh_id()).await
    }

    /// Like [`Client::upload`], with a key: the same key again adds nothing twice.
    pub async fn upload_keyed(
        &self,
        job: &str,
        holder: Option<&Holder>,
        asset_type: &str,
        name: &str,
        content: Content,
        key: &str,
    ) -> Result<Asset> {
        let mut query = json!({ "asset_type": asset_type, "name": name });
        if let Some(holder) = holder {
            query["worker"] = json!(holder.worker);
            query["fence"] = json!(holder.fence);
        }
        let timeout = upload_timeout(content.length().await.unwrap_or_default());
        let request = Request::to(CallId::AddJobAsset, &[job]).query(&[query]).timeout(Some(timeout));
        self.json(request.content(content).key(key.to_owned())).await
    }

    /// Registers an asset whose content is elsewhere.
    pub async fn register_asset(
        &self,
        job: &str,
        holder: Option<&Holder>,
        asset: &NewAsset,
    ) -> Result<Asset> {
        let (worker, fence) = holder.map(|holder| (holder.worker.clone(), holder.fence)).unzip();
        self.change(CallId::AddJobAsset, &[job], &NewAsset { worker, fence, ..asset.clone() }).await
    }

    /// The content of an uploaded asset, to be read in pieces.
    pub async fn download(&self, job: &str, asset: &str) -> Result<Download> {
        let request = Request::to(CallId::GetJobAssetContent, &[job, asset]).timeout(None);
        Ok(Download(self.begin(&request).await?))
    }
}

/// How long an upload of this many bytes may take.
fn upload_timeout(bytes: u64) -> Duration {
    CALL_TIMEOUT + Duration::from_secs(bytes / UPLOAD_BYTES_PER_SECOND)
}

/// The content of an asset while it is read. The server closes a connection whose reader pauses for a minute: read on, or write the
/// content to a file first.
#[derive(Debug)]
pub struct Download(reqwest::Response);

impl Download {
    /// The next piece; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.0.chunk().await.map_err(|error| Error::unreachable(&error))
    }

    /// All of it, in memory.
    pub async fn bytes(self) -> Result<Bytes> {
        self.0.bytes().await.map_err(|error| Error::unreachable(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_an_upload_grows_with_its_size() {
        let seconds = [0, 1 << 20, 1 << 30].map(|bytes| upload_timeout(bytes).as_secs());
        assert_eq!(seconds, [30, 94, 30 + (64 << 10)]);
    }
}
