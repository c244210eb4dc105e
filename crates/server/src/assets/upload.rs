//! Streams a request body into an object. The object is listed as garbage until the asset is committed, so a failed upload
//! leaves nothing behind.

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::buffered::BufWriter;
use sha2::{Digest as _, Sha256};
use tenure_core::asset::Upload;
use tenure_core::refusal::Refusal;
use tenure_service::assets::Contents;
use tenure_service::keyring::Admission;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep_until};

use crate::assets::garbage;
use crate::prelude::*;

/// How often a running upload renews its garbage entry.
const RENEW_INTERVAL: Duration = Duration::from_secs(10);

pub(crate) struct Received {
    pub(crate) bytes: u64,
    pub(crate) digest: [u8; 32],
}

pub(crate) struct RunningUpload {
    pub(crate) call: CallContext,
    contents: Contents,
    upload: Upload,
    renewed_at: Instant,
}

impl RunningUpload {
    /// Checks that the caller may upload, and lists the object as garbage.
    pub(crate) async fn begin(call: CallContext, contents: Contents, upload: Upload) -> Result<Self> {
        call.submit(None, Command::Upload(upload.clone())).await?;
        let upload = Upload { continues: true, ..upload };
        Ok(Self { call, contents, upload, renewed_at: Instant::now() })
    }

    /// Writes the body into the object, which is durable when this returns.
    pub(crate) async fn receive(&mut self, body: Body) -> Result<Received> {
        let mut writer = self.contents.writer(&self.upload.storage_path).map_err(|error| broken(&error))?;
        let received = self.write(&mut writer, body).await;
        if received.is_err()
            && let Err(error) = writer.abort().await
        {
            tracing::debug!(%error, "upload abort failed");
        }
        let received = received?;
        self.keep_alive(writer.shutdown()).await?.map_err(|error| broken(&error))?;
        Ok(received)
    }

    async fn write(&mut self, writer: &mut BufWriter, body: Body) -> Result<Received> {
        let limit = self.call.limits().asset;
        let (mut bytes, mut digest) = (0, Sha256::new());
        let mut body = body.into_data_stream();
        loop {
            let chunk: Bytes = match self.keep_alive(body.next()).await? {
                Some(Ok(chunk)) => chunk,
                None => break,
                Some(Err(error)) => {
                    return Err(Problem::malformed("#", format!("the body ended early: {error}")));
                }
            };
            bytes += chunk.len() as u64;
            if bytes > limit {
                return Err(too_large(limit));
            }
            digest.update(&chunk);
            self.keep_alive(writer.put(chunk)).await?.map_err(|error| broken(&error))?;
        }
        Ok(Received { bytes, digest: digest.finalize().into() })
    }

    /// Runs `work`, and meanwhile renews the garbage entry and checks the caller's credentials.
    async fn keep_alive<T>(&mut self, work: impl Future<Output = T>) -> Result<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = sleep_until(self.renewed_at + RENEW_INTERVAL) => self.renew().await?,
            }
        }
    }

    async fn renew(&mut self) -> Result<()> {
        self.renewed_at = Instant::now();
        if self.call.admission(&self.call.caller).await == Admission::Ended {
            return Err(Problem::new(ProblemCode::Unauthenticated, "the key or token is no longer valid"));
        }
        let (by, command) = (self.call.caller.origin(), Command::Upload(self.upload.clone()));
        match self.call.runtime().submit(CommandEnvelope { by, key: None, command }).await {
            Ok(answer) => answer.map(drop).map_err(|refusal| self.refused(refusal)),
            // The commit at the end fails if the entry has expired.
            Err(failure) => {
                tracing::debug!(%failure, "upload renewal failed");
                Ok(())
            }
        }
    }

    pub(crate) async fn discard(&self) {
        let path = &self.upload.storage_path;
        match self.contents.delete(path).await {
            Ok(()) => garbage::remove_entries(&self.call, vec![path.clone()]).await,
            Err(error) => tracing::warn!(path, %error, "upload object not deleted"),
        }
    }

    /// Explains a garbage entry that expired during the upload; other refusals are answered as they are.
    pub(crate) fn refused(&self, refusal: Refusal) -> Problem {
        match refusal {
            Refusal::NotFound { what: "upload", .. } => {
                tracing::warn!(path = self.upload.storage_path, "upload expired");
                let detail =
                    "the store was unavailable during the upload, and nothing was changed; upload again";
                Problem::new(ProblemCode::StoreUnavailable, detail).retry_after(1)
            }
            refusal => refusal.into(),
        }
    }
}

pub(crate) fn too_large(limit: u64) -> Problem {
    Problem::new(ProblemCode::TooLarge, format!("the content is larger than {limit} bytes"))
        .with("limit", limit.into())
}

fn broken(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "asset store write failed");
    let detail = "the asset store cannot be written to; try again, or look into the server's log";
    Problem::new(ProblemCode::StoreUnavailable, detail).retry_after(5)
}
