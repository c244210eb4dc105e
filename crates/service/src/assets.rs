//! The contents of assets: files of a folder, or objects of an S3 bucket. Rows about them are the store's; here are
//! only bytes under paths.
//!
//! In reading order: `name` (what an object is called), `upload` (from a request's body to an object), `range` (which
//! part is asked for), `garbage` (what is deleted, and when).

pub mod content;
pub mod name;
pub mod range;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    ClientOptions, GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt as _, RetryConfig,
};
use tenure_config::{Config, StoreLocation};
use tenure_store::AnyStore;

/// The folder within a data folder.
const FOLDER: &str = "assets";
/// What is sent to a bucket at once. The least that S3 takes, so that an upload needs little memory.
const PART_BYTES: usize = 5 << 20;
/// Parts on their way at once.
const PARTS: usize = 2;
/// How long a bucket may take to answer, or to send more of an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// Where the contents are.
#[derive(Clone, Debug)]
pub struct Contents {
    objects: Arc<dyn ObjectStore>,
    /// The folder, if it is one.
    folder: Option<PathBuf>,
}

impl Contents {
    /// The place that the configuration names; else one beside the store, where the store is one process's own.
    pub fn open(config: &Config, store: &AnyStore) -> Result<Option<Self>, String> {
        if let Some(place) = &config.assets {
            return match place.strip_prefix("file:") {
                Some(folder) => Self::folder(FilePath::new(folder)).map(Some),
                None => Self::bucket(place.strip_prefix("s3://").unwrap_or(place)).map(Some),
            };
        }
        match (store, &config.store) {
            (AnyStore::Memory(_), _) => Ok(Some(Self { objects: Arc::new(InMemory::new()), folder: None })),
            (AnyStore::Sqlite(_), StoreLocation::Data(folder)) => {
                Self::folder(&folder.join(FOLDER)).map(Some)
            }
            // Nodes that share a store need a place that they share.
            (AnyStore::Sqlite(_) | AnyStore::Postgres(_), _) => Ok(None),
        }
    }

    fn folder(folder: &FilePath) -> Result<Self, String> {
        let flawed = |error: &dyn std::fmt::Display| format!("assets.store: {}: {error}", folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| flawed(&error))?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(|error| flawed(&error))?;
        let folder = folder.canonicalize().map_err(|error| flawed(&error))?;
        Ok(Self { objects: Arc::new(files.with_fsync(true)), folder: Some(folder) })
    }

    /// Keys, region and endpoint are in the environment, as for every other program that speaks to a bucket.
    fn bucket(place: &str) -> Result<Self, String> {
        // Whoever came first has installed the same.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let plain = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|allowed| allowed.eq_ignore_ascii_case("true"));
        let options = ClientOptions::new().with_timeout_disabled().with_read_timeout(SILENCE);
        let options = options.with_connect_timeout(Duration::from_secs(5)).with_allow_http(plain);
        let retry = RetryConfig { max_retries: 3, retry_timeout: SILENCE, ..RetryConfig::default() };
        let objects = builder.with_client_options(options).with_retry(retry).build();
        let objects = objects.map_err(|error| format!("assets.store: {error}"))?;
        let prefix = Path::parse(prefix).map_err(|error| format!("assets.store: {error}"))?;
        Ok(Self { objects: Arc::new(PrefixStore::new(objects, prefix)), folder: None })
    }

    /// Writes an object, a part at a time. It is there, durably, when it was shut down.
    pub fn writer(&self, path: &str) -> Result<BufWriter, object_store::Error> {
        let objects = Arc::clone(&self.objects);
        Ok(BufWriter::with_capacity(objects, Path::parse(path)?, PART_BYTES).with_max_concurrency(PARTS))
    }

    /// An object, or a part of it.
    pub async fn read(
        &self,
        path: &str,
        range: Option<std::ops::Range<u64>>,
    ) -> Result<GetResult, object_store::Error> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        self.objects.get_opts(&Path::parse(path)?, options).await
    }

    /// Deletes an object, with whatever a process that died while writing it has left. One that is not there is
    /// deleted.
    pub async fn delete(&self, path: &str) -> Result<(), object_store::Error> {
        if let Some(folder) = self.folder.clone() {
            let own = folder.join(path).parent().map(FilePath::to_owned).unwrap_or_default();
            let deleted = tokio::task::spawn_blocking(move || remove_folder(&own, &folder)).await;
            let flawed = |source| object_store::Error::Generic { store: "folder", source };
            return deleted.map_err(|error| flawed(error.into()))?.map_err(|error| flawed(error.into()));
        }
        match self.objects.delete(&Path::parse(path)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// An object's own folder goes with all that is in it; those above it, up to the top, if nothing else is in them.
fn remove_folder(own: &FilePath, top: &FilePath) -> std::io::Result<()> {
    if !own.starts_with(top) || own == top {
        return Ok(());
    }
    match std::fs::remove_dir_all(own) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let above = own.ancestors().skip(1).take_while(|folder| *folder != top);
    // The first that is not empty ends it.
    let _full = above.map(std::fs::remove_dir).find(Result::is_err);
    Ok(())
}
