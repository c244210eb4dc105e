//! Reads the issuer's keys from a file or URL, and keeps them up to date.
//!
//! A file is read again when it changes. A URL is fetched at first use, every ten minutes, and when a JWT names an unknown
//! key; since any caller can do that, at most once a minute. If reading fails, the known keys stay valid, so that an
//! outage of the issuer locks no caller out. A JWKS without a usable key is no failure: it revokes the known keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use jsonwebtoken::{Algorithm, DecodingKey};
use reqwest::{Client, Url, redirect};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::JwtFlaw;
use super::keys::IssuerKeys;

const JWKS_BYTES_MAX: usize = 64 * 1024;
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a URL is fetched.
#[derive(Debug, Clone, Copy)]
pub(super) struct FetchIntervals {
    /// `IssuerKeys` older than this are fetched again.
    pub(super) refresh: Duration,
    /// The minimum between two fetches.
    pub(super) min: Duration,
    /// The minimum while no keys are known.
    pub(super) min_without_keys: Duration,
}

const INTERVALS: FetchIntervals = FetchIntervals {
    refresh: Duration::from_mins(10),
    min: Duration::from_mins(1),
    min_without_keys: Duration::from_secs(5),
};

#[derive(Debug)]
pub(super) enum KeySource {
    File(FileSource),
    Url(Arc<UrlSource>),
}

impl KeySource {
    pub(super) fn open(jwks: &str, allowed: &[Algorithm]) -> Result<Self, String> {
        if jwks.contains("://") {
            UrlSource::open(jwks, allowed, INTERVALS).map(|source| Self::Url(Arc::new(source)))
        } else {
            FileSource::open(Path::new(jwks), allowed).map(Self::File)
        }
    }

    /// Fetches the keys of a URL; those of a file were read when it was opened. If that fails, the keys that `running` has
    /// of the same URL are used. Without any it is an error.
    pub(super) async fn load(&self, running: Option<&Self>) -> Result<(), String> {
        let Self::Url(source) = self else { return Ok(()) };
        source.fetch().await;
        match running {
            _ if source.has_keys() => Ok(()),
            Some(Self::Url(running)) if source.inherit(running) => Ok(()),
            _ => {
                let error = source.fetched.read().unwrap_or_else(PoisonError::into_inner).error.clone();
                Err(format!("cannot fetch auth.jwt.jwks {}: {error}", source.url))
            }
        }
    }

    /// The keys that may have signed a JWT with this header; never empty.
    pub(super) async fn find(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<DecodingKey>, JwtFlaw> {
        let found = match self {
            Self::File(file) => file.current().matching(kid, algorithm),
            Self::Url(url) => url.find(kid, algorithm).await?,
        };
        if found.is_empty() { Err(JwtFlaw::UnknownKey) } else { Ok(found) }
    }
}

#[derive(Debug)]
pub(super) struct FileSource {
    path: PathBuf,
    allowed: Vec<Algorithm>,
    cached: RwLock<(FileVersion, Arc<IssuerKeys>)>,
}

/// The modification time and size of a file; `None` if it does not exist.
type FileVersion = Option<(SystemTime, u64)>;

impl FileSource {
    fn open(path: &Path, allowed: &[Algorithm]) -> Result<Self, String> {
        let version = file_version(path);
        let usable = |keys: IssuerKeys| {
            if keys.is_empty() { Err("no key has an allowed algorithm".to_owned()) } else { Ok(keys) }
        };
        let keys = read(path, allowed).and_then(usable);
        let keys = keys.map_err(|error| format!("cannot load auth.jwt.jwks {}: {error}", path.display()))?;
        let cached = RwLock::new((version, Arc::new(keys)));
        Ok(Self { path: path.to_path_buf(), allowed: allowed.to_vec(), cached })
    }

    fn current(&self) -> Arc<IssuerKeys> {
        let version = file_version(&self.path);
        {
            let (cached_version, keys) = &*self.cached.read().unwrap_or_else(PoisonError::into_inner);
            if *cached_version == version {
                return Arc::clone(keys);
            }
        }
        let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        if cached.0 != version {
            cached.0 = version;
            match read(&self.path, &self.allowed) {
                Ok(keys) => {
                    if keys.is_empty() {
                        tracing::warn!(path = %self.path.display(), "JWKS has no usable key; tokens refused");
                    }
                    cached.1 = Arc::new(keys);
                }
                Err(error) => tracing::warn!(path = %self.path.display(), %error, "JWKS file reload failed"),
            }
        }
        Arc::clone(&cached.1)
    }
}

fn file_version(path: &Path) -> FileVersion {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(path: &Path, allowed: &[Algorithm]) -> Result<IssuerKeys, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > JWKS_BYTES_MAX as u64 {
        return Err(format!("larger than {JWKS_BYTES_MAX} bytes"));
    }
    let jwks = fs::read(path).map_err(|error| error.to_string())?;
    IssuerKeys::parse(&jwks, allowed)
}

#[derive(Debug)]
pub(super) struct UrlSource {
    url: Url,
    client: Client,
    allowed: Vec<Algorithm>,
    intervals: FetchIntervals,
    fetched: RwLock<Fetched>,
    /// Held during a fetch; other callers wait for its result.
    fetching: Mutex<()>,
}

#[derive(Debug, Default)]
struct Fetched {
    keys: Option<Arc<IssuerKeys>>,
    tried_at: Option<Instant>,
    succeeded_at: Option<Instant>,
    error: String,
}

impl UrlSource {
    pub(super) fn open(url: &str, allowed: &[Algorithm], intervals: FetchIntervals) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("auth.jwt.jwks {url:?}: {error}"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("auth.jwt.jwks must not contain a user name or password: it is logged".into());
        }
        let direct = parsed.scheme() == "http" && is_loopback(&parsed);
        if parsed.scheme() != "https" && !direct {
            return Err(format!("auth.jwt.jwks {url:?}: use https, or http on a loopback address"));
        }
        // Reqwest needs a default provider; an installed one stays.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(FETCH_TIMEOUT).redirect(redirect::Policy::none());
        let client = if direct { client.no_proxy() } else { client };
        let client = client.build().map_err(|error| format!("auth.jwt: {error}"))?;
        let allowed = allowed.to_vec();
        Ok(Self {
            url: parsed,
            client,
            allowed,
            intervals,
            fetched: RwLock::default(),
            fetching: Mutex::default(),
        })
    }

    async fn find(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<DecodingKey>, JwtFlaw> {
        // One caller waits for fresh keys; the others use the known ones.
        let being_fetched = self.fetching.try_lock().is_err() && self.has_keys();
        if self.is_stale() && !being_fetched {
            self.fetch().await;
        }
        let found = self.known(kid, algorithm);
        if found.as_ref().is_ok_and(|keys| !keys.is_empty()) {
            return found;
        }
        self.fetch().await;
        self.known(kid, algorithm)
    }

    fn known(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<Vec<DecodingKey>, JwtFlaw> {
        let fetched = self.fetched.read().unwrap_or_else(PoisonError::into_inner);
        let keys = fetched.keys.as_ref().ok_or_else(|| JwtFlaw::KeysUnavailable(fetched.error.clone()))?;
        Ok(keys.matching(kid, algorithm))
    }

    fn has_keys(&self) -> bool {
        self.fetched.read().unwrap_or_else(PoisonError::into_inner).keys.is_some()
    }

    /// Takes over the keys of another source of the same URL. False if it has none.
    fn inherit(&self, other: &Self) -> bool {
        if (&self.url, &self.allowed) != (&other.url, &other.allowed) {
            return false;
        }
        let known = other.fetched.read().unwrap_or_else(PoisonError::into_inner);
        let mut fetched = self.fetched.write().unwrap_or_else(PoisonError::into_inner);
        fetched.keys.clone_from(&known.keys);
        fetched.succeeded_at = known.succeeded_at;
        fetched.keys.is_some()
    }

    fn is_stale(&self) -> bool {
        let fetched = self.fetched.read().unwrap_or_else(PoisonError::into_inner);
        fetched.succeeded_at.is_none_or(|at| at.elapsed() >= self.intervals.refresh)
    }

    fn is_too_early(&self) -> bool {
        let fetched = self.fetched.read().unwrap_or_else(PoisonError::into_inner);
        let intervals = &self.intervals;
        let min = if fetched.keys.is_some() { intervals.min } else { intervals.min_without_keys };
        fetched.tried_at.is_some_and(|at| at.elapsed() < min)
    }

    /// Fetches unless it is too early. The fetch continues if the caller disconnects, so that callers that give up cannot
    /// prevent it.
    async fn fetch(self: &Arc<Self>) {
        if self.is_too_early() && self.fetching.try_lock().is_ok() {
            return;
        }
        let source = Arc::clone(self);
        // Fails only if the process is ending.
        let _ended = tokio::spawn(async move { source.fetch_locked().await }).await;
    }

    async fn fetch_locked(&self) {
        let _guard = self.fetching.lock().await;
        if self.is_too_early() {
            return;
        }
        self.fetched.write().unwrap_or_else(PoisonError::into_inner).tried_at = Some(Instant::now());
        let result = self.download().await.and_then(|jwks| IssuerKeys::parse(&jwks, &self.allowed));
        let mut fetched = self.fetched.write().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(keys) => {
                if keys.is_empty() {
                    tracing::warn!(url = %self.url, "JWKS has no usable key; tokens refused");
                }
                fetched.keys = Some(Arc::new(keys));
                fetched.succeeded_at = Some(Instant::now());
            }
            Err(error) => {
                tracing::warn!(url = %self.url, error, "issuer key fetch failed");
                fetched.error = error;
            }
        }
    }

    async fn download(&self) -> Result<Vec<u8>, String> {
        let response = self.client.get(self.url.clone()).send().await;
        let mut response = response.map_err(|error| error.without_url().to_string())?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(format!("the response is {}", response.status()));
        }
        let mut jwks = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
            jwks.extend_from_slice(&part);
            if jwks.len() > JWKS_BYTES_MAX {
                return Err(format!("the response is larger than {JWKS_BYTES_MAX} bytes"));
            }
        }
        Ok(jwks)
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}
