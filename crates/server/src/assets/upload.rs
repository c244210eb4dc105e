//! From a request's body to an object: streamed, bounded, and promised to the garbage all the while, so that whatever
//! breaks leaves nothing behind.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::buffered::BufWriter;
use sha2::{Digest as _, Sha256};
use tenure_core::asset::Upload;
use tenure_core::command::{Asked, Command};
use tenure_core::refusal::Refusal;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep_until, timeout};

use crate::app::App;
use crate::assets::{Contents, garbage};
use crate::caller::Caller;
use crate::problem::{Problem, STORE_UNAVAILABLE, TOO_LARGE, UNAUTHENTICATED};

/// How often an upload that goes on says so.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// How long a body may pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// What was received.
pub(crate) struct Received {
    pub(crate) bytes: u64,
    pub(crate) digest: [u8; 32],
}

/// An upload that goes on.
pub(crate) struct Uploading {
    app: App,
    contents: Contents,
    caller: Caller,
    upload: Upload,
    said: Instant,
}

impl Uploading {
    /// Asks whether the caller may, and promises the object to the garbage.
    pub(crate) async fn begin(
        app: App,
        contents: Contents,
        caller: Caller,
        upload: Upload,
    ) -> Result<Self, Problem> {
        let command = Command::Upload(upload.clone());
        app.runtime().submit(Asked { by: caller.actor(), key: None, command }).await??;
        let upload = Upload { goes_on: true, ..upload };
        Ok(Self { app, contents, caller, upload, said: Instant::now() })
    }

    /// Writes the body into the object. It is durable when this returns.
    pub(crate) async fn receive(&mut self, body: Body) -> Result<Received, Problem> {
        let mut writer = self.contents.writer(&self.upload.storage_path).map_err(|error| broken(&error))?;
        let received = self.write(&mut writer, body).await;
        if received.is_err()
            && let Err(error) = writer.abort().await
        {
            tracing::debug!(%error, "an upload that broke off may have left parts behind");
        }
        let received = received?;
        self.go_on(writer.shutdown()).await?.map_err(|error| broken(&error))?;
        Ok(received)
    }

    async fn write(&mut self, writer: &mut BufWriter, body: Body) -> Result<Received, Problem> {
        let limit = self.app.limits().asset;
        let (mut bytes, mut digest) = (0, Sha256::new());
        let mut body = body.into_data_stream();
        loop {
            let chunk: Bytes = match self.go_on(timeout(PAUSE_MAX, body.next())).await? {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(None) => break,
                Ok(Some(Err(error))) => {
                    return Err(Problem::malformed("#", format!("the body broke off: {error}")));
                }
                Err(_) => return Err(Problem::malformed("#", "the body paused for too long")),
            };
            bytes += chunk.len() as u64;
            if bytes > limit {
                return Err(too_large(limit));
            }
            digest.update(&chunk);
            self.go_on(writer.put(chunk)).await?.map_err(|error| broken(&error))?;
        }
        Ok(Received { bytes, digest: digest.finalize().into() })
    }

    /// Works, and says from time to time that it does. Whoever has lost the right to write need not go on.
    async fn go_on<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Problem> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = sleep_until(self.said + SAY_EVERY) => self.say().await?,
            }
        }
    }

    async fn say(&mut self) -> Result<(), Problem> {
        self.said = Instant::now();
        if !self.app.keyring().still_admits(&self.caller, self.app.runtime().now()).await {
            return Err(Problem::new(&UNAUTHENTICATED, "the key or token is not valid any more"));
        }
        let command = Command::Upload(self.upload.clone());
        match self.app.runtime().submit(Asked { by: self.caller.actor(), key: None, command }).await {
            Ok(answer) => answer.map(drop).map_err(|refusal| refused(refusal, &self.upload)),
            // The last word is the commit's.
            Err(failure) => {
                tracing::debug!(%failure, "an upload could not say that it goes on");
                Ok(())
            }
        }
    }

    /// Deletes what was written.
    pub(crate) async fn give_up(self) {
        let path = self.upload.storage_path;
        match self.contents.delete(&path).await {
            Ok(()) => garbage::forget(&self.app, vec![path]).await,
            Err(error) => tracing::warn!(path, %error, "an object is left to the garbage"),
        }
    }
}

/// An upload that was given up meanwhile is ours to explain; everything else is the caller's to know.
pub(crate) fn refused(refusal: Refusal, upload: &Upload) -> Problem {
    match refusal {
        Refusal::NotFound { what: "upload", .. } => {
            tracing::warn!(path = upload.storage_path, "an upload was not heard of for too long");
            let words = "the store could not be reached during the upload; nothing was changed";
            Problem::new(&STORE_UNAVAILABLE, words).retry_after(1)
        }
        refusal => refusal.into(),
    }
}

pub(crate) fn too_large(limit: u64) -> Problem {
    Problem::new(&TOO_LARGE, format!("the content is larger than {limit} bytes")).with("limit", limit.into())
}

fn broken(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "the place of assets failed");
    let words = "the place of assets cannot be written to now; its operator finds the reason in the log";
    Problem::new(&STORE_UNAVAILABLE, words).retry_after(5)
}
