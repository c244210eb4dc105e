//! Assets: what a job leaves behind. Uploaded to the server, or registered by their URL.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use reqwest::{Body, Method};
use serde_json::json;

use super::jobs::path;
use super::transport::{Ask, decode};
use super::{Client, escaped, fresh_id, with_query};
use crate::error::{Error, Result};
use crate::request::{Holder, NewAsset, Page, to_value};
use crate::wire::{Asset, Listing};

/// What an upload carries: bytes, or a file, which is read while it is sent.
#[derive(Clone, Debug)]
pub enum Content {
    /// These bytes.
    Bytes(Bytes),
    /// What is in this file.
    File(PathBuf),
}

impl Content {
    /// Opened anew for each try.
    pub(super) async fn body(&self) -> Result<Body> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone().into()),
            Self::File(file) => {
                let opened = tokio::fs::File::open(file).await;
                opened.map(Body::from).map_err(|why| Error::Protocol(format!("{}: {why}", file.display())))
            }
        }
    }

    /// Its length, if it is known before it is sent.
    pub(super) async fn length(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File(file) => tokio::fs::metadata(file).await.ok().map(|found| found.len()),
        }
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Bytes(text.into())
    }
}

impl From<&Path> for Content {
    fn from(file: &Path) -> Self {
        Self::File(file.to_owned())
    }
}

impl From<PathBuf> for Content {
    fn from(file: PathBuf) -> Self {
        Self::File(file)
    }
}

impl Client {
    /// A job's assets, newest first.
    pub async fn assets(&self, job: &str, page: &Page) -> Result<Listing<Asset>> {
        self.listing(&with_query(&path(job, "/assets"), &[to_value("the page", page)?]), "assets").await
    }

    /// Uploads an asset: as the job's holder, or as its owner or an operator. It is kept under a file name.
    pub async fn upload(
        &self,
        job: &str,
        holder: Option<&Holder>,
        (asset_type, name): (&str, &str),
        content: impl Into<Content>,
    ) -> Result<Asset> {
        self.upload_keyed(job, holder, (asset_type, name), (content.into(), &fresh_id())).await
    }

    /// Like [`Client::upload`], under a key: the same again adds nothing twice.
    pub async fn upload_keyed(
        &self,
        job: &str,
        holder: Option<&Holder>,
        (asset_type, name): (&str, &str),
        (content, key): (Content, &str),
    ) -> Result<Asset> {
        let mut query = json!({ "asset_type": asset_type, "name": name });
        if let Some(holder) = holder {
            query["worker"] = json!(holder.worker);
            query["fence"] = json!(holder.fence);
        }
        let ask = Ask::new(Method::POST, with_query(&path(job, "/assets"), &[query]));
        let ask = ask.content(content).key(key.to_owned()).timeout(None);
        decode(&self.repeated(&ask).await?.body)
    }

    /// Registers an asset whose content is elsewhere.
    pub async fn register_asset(
        &self,
        job: &str,
        holder: Option<&Holder>,
        asset: &NewAsset,
    ) -> Result<Asset> {
        let mut body = to_value("the asset", asset)?;
        if let Some(holder) = holder {
            body["worker"] = json!(holder.worker);
            body["fence"] = json!(holder.fence);
        }
        self.post_json(&path(job, "/assets"), &body).await
    }

    /// The content of an uploaded asset, to be read piece by piece.
    pub async fn download(&self, job: &str, asset: &str) -> Result<Download> {
        let from = path(job, &format!("/assets/{}/content", escaped(asset)));
        Ok(Download(self.begin(&Ask::new(Method::GET, from).timeout(None)).await?))
    }
}

/// A content that is being read.
#[derive(Debug)]
pub struct Download(reqwest::Response);

impl Download {
    /// The next piece; none at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.0.chunk().await.map_err(|error| Error::unreachable(&error))
    }

    /// All of it, in memory.
    pub async fn bytes(self) -> Result<Bytes> {
        self.0.bytes().await.map_err(|error| Error::unreachable(&error))
    }
}
