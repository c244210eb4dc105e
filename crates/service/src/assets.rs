//! The contents of assets: files in a folder, or objects in an S3 bucket. Their metadata is in the store.

pub mod content;
pub mod name;
pub mod range;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
#[cfg(feature = "s3")]
use std::time::Duration;

#[cfg(feature = "s3")]
use object_store::aws::AmazonS3Builder;
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
#[cfg(feature = "s3")]
use object_store::prefix::PrefixStore;
#[cfg(feature = "s3")]
use object_store::{ClientOptions, RetryConfig};
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt as _};
use tenure_config::{Config, StoreLocation};
use tenure_store::StoreKind;

/// In the data folder.
const FOLDER: &str = "assets";
/// The minimum part size of S3, so that an upload needs little memory.
const PART_BYTES: usize = 5 << 20;
const CONCURRENT_PARTS: usize = 2;
/// The memory of an upload: the parts that are being written, and the one that is being received.
pub const UPLOAD_BYTES_MAX: usize = (CONCURRENT_PARTS + 1) * PART_BYTES;
/// The longest wait for a bucket's response or its next part.
#[cfg(feature = "s3")]
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The asset store.
#[derive(Clone, Debug)]
pub struct Contents {
    objects: Arc<dyn ObjectStore>,
    /// `None` for a bucket.
    folder: Option<PathBuf>,
}

impl Contents {
    /// Opens the configured asset store, or a folder beside an embedded store. `None` if neither applies.
    pub fn open(config: &Config, store: StoreKind) -> Result<Option<Self>, String> {
        if let Some(place) = &config.assets {
            return match place.strip_prefix("file:") {
                Some(folder) => Self::folder(FilePath::new(folder)).map(Some),
                None => Self::bucket(place.strip_prefix("s3://").unwrap_or(place)).map(Some),
            };
        }
        match (store, &config.store) {
            (StoreKind::Memory, _) => Ok(Some(Self { objects: Arc::new(InMemory::new()), folder: None })),
            (StoreKind::Sqlite, StoreLocation::Data(folder)) => Self::folder(&folder.join(FOLDER)).map(Some),
            // Nodes that share a store need a shared asset store, which must be configured.
            (StoreKind::Sqlite | StoreKind::Postgres, _) => Ok(None),
        }
    }

    fn folder(folder: &FilePath) -> Result<Self, String> {
        let failed =
            |error: &dyn std::fmt::Display| format!("cannot use assets.store {}: {error}", folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed(&error))?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(|error| failed(&error))?;
        let folder = folder.canonicalize().map_err(|error| failed(&error))?;
        Ok(Self { objects: Arc::new(files.with_fsync(true)), folder: Some(folder) })
    }

    #[cfg(not(feature = "s3"))]
    fn bucket(_: &str) -> Result<Self, String> {
        Err("cannot use assets.store: this binary was built without the cargo feature `s3`".to_owned())
    }

    /// Keys, region and endpoint are read from the usual AWS environment variables.
    #[cfg(feature = "s3")]
    fn bucket(place: &str) -> Result<Self, String> {
        // Fails if a provider is installed already.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let plain = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|allowed| allowed.eq_ignore_ascii_case("true"));
        let options = ClientOptions::new().with_timeout_disabled().with_read_timeout(READ_TIMEOUT);
        let options = options.with_connect_timeout(Duration::from_secs(5)).with_allow_http(plain);
        let retry = RetryConfig { max_retries: 3, retry_timeout: READ_TIMEOUT, ..RetryConfig::default() };
        let objects = builder.with_client_options(options).with_retry(retry).build();
        let objects = objects.map_err(|error| format!("cannot use assets.store: {error}"))?;
        let prefix = Path::parse(prefix).map_err(|error| format!("cannot use assets.store: {error}"))?;
        Ok(Self { objects: Arc::new(PrefixStore::new(objects, prefix)), folder: None })
    }

    /// Writes an object in parts; it is durable after `shutdown`.
    pub fn writer(&self, path: &str) -> Result<BufWriter, object_store::Error> {
        let objects = Arc::clone(&self.objects);
        Ok(BufWriter::with_capacity(objects, Path::parse(path)?, PART_BYTES)
            .with_max_concurrency(CONCURRENT_PARTS))
    }

    /// Reads an object, or a range of it.
    pub async fn read(
        &self,
        path: &str,
        range: Option<std::ops::Range<u64>>,
    ) -> Result<GetResult, object_store::Error> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        self.objects.get_opts(&Path::parse(path)?, options).await
    }

    /// Deletes an object and what an interrupted write has left. A missing object is not an error.
    pub async fn delete(&self, path: &str) -> Result<(), object_store::Error> {
        if let Some(folder) = self.folder.clone() {
            let own = folder.join(path).parent().map(FilePath::to_owned).unwrap_or_default();
            let deleted = tokio::task::spawn_blocking(move || remove_folder(&own, &folder)).await;
            let failed = |source| object_store::Error::Generic { store: "folder", source };
            return deleted.map_err(|error| failed(error.into()))?.map_err(|error| failed(error.into()));
        }
        match self.objects.delete(&Path::parse(path)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Removes an object's folder with its contents, and the folders above it up to `top` that are then empty.
fn remove_folder(own: &FilePath, top: &FilePath) -> std::io::Result<()> {
    if !own.starts_with(top) || own == top {
        return Ok(());
    }
    match std::fs::remove_dir_all(own) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let above = own.ancestors().skip(1).take_while(|folder| *folder != top);
    // Stops at the first that is not empty.
    let _full = above.map(std::fs::remove_dir).find(Result::is_err);
    Ok(())
}
