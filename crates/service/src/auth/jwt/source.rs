//! Where the issuer's keys come from, and when they are read again.
//!
//! A file is read again when it changes. A URL is fetched at first use, every ten minutes, and when a JWT names a key
//! that is not known; but strangers can name keys too, so that happens at most once a minute. What cannot be read
//! again stays as it was: an issuer's outage locks nobody out.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use jsonwebtoken::{Algorithm, DecodingKey};
use reqwest::{Client, Url, redirect};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::JwtFlaw;
use super::keys::Keys;

const JWKS_BYTES_MAX: usize = 64 * 1024;
const FETCH_MAX: Duration = Duration::from_secs(5);

/// How often a URL is fetched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Keys older than this are fetched again.
    pub(super) refresh: Duration,
    /// Between two fetches, whatever asks for the second.
    pub(super) apart: Duration,
    /// The same while there are no keys at all.
    pub(super) apart_without_keys: Duration,
}

const PACE: Pace = Pace {
    refresh: Duration::from_mins(10),
    apart: Duration::from_mins(1),
    apart_without_keys: Duration::from_secs(5),
};

/// The issuer's keys, wherever they come from.
#[derive(Debug)]
pub(super) enum KeySource {
    File(FileSource),
    Url(Arc<UrlSource>),
}

impl KeySource {
    pub(super) fn open(jwks: &str, allowed: &[Algorithm]) -> Result<Self, String> {
        if jwks.contains("://") {
            UrlSource::open(jwks, allowed, PACE).map(|source| Self::Url(Arc::new(source)))
        } else {
            FileSource::open(Path::new(jwks), allowed).map(Self::File)
        }
    }

    /// The keys that may have signed a JWT with this header; never none.
    pub(super) async fn find(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<DecodingKey>, JwtFlaw> {
        let found = match self {
            Self::File(file) => file.current().fitting(kid, algorithm),
            Self::Url(url) => url.find(kid, algorithm).await?,
        };
        if found.is_empty() { Err(JwtFlaw::UnknownKey) } else { Ok(found) }
    }
}

/// Keys in a file of the operator's.
#[derive(Debug)]
pub(super) struct FileSource {
    path: PathBuf,
    allowed: Vec<Algorithm>,
    read: RwLock<(Stamp, Arc<Keys>)>,
}

/// Tells one content of a file from the next; `None` for a file that is not there.
type Stamp = Option<(SystemTime, u64)>;

impl FileSource {
    fn open(path: &Path, allowed: &[Algorithm]) -> Result<Self, String> {
        let stamp = stamp(path);
        let keys = read(path, allowed).map_err(|flaw| format!("auth.jwt: {}: {flaw}", path.display()))?;
        let read = RwLock::new((stamp, Arc::new(keys)));
        Ok(Self { path: path.to_path_buf(), allowed: allowed.to_vec(), read })
    }

    fn current(&self) -> Arc<Keys> {
        let stamp = stamp(&self.path);
        {
            let (stamp_then, keys) = &*self.read.read().unwrap_or_else(PoisonError::into_inner);
            if *stamp_then == stamp {
                return Arc::clone(keys);
            }
        }
        let mut now = self.read.write().unwrap_or_else(PoisonError::into_inner);
        if now.0 != stamp {
            now.0 = stamp;
            match read(&self.path, &self.allowed) {
                Ok(keys) => now.1 = Arc::new(keys),
                Err(flaw) => tracing::warn!(path = %self.path.display(), %flaw, "the JWKS stays as it was"),
            }
        }
        Arc::clone(&now.1)
    }
}

fn stamp(path: &Path) -> Stamp {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

fn read(path: &Path, allowed: &[Algorithm]) -> Result<Keys, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > JWKS_BYTES_MAX as u64 {
        return Err(format!("larger than {JWKS_BYTES_MAX} bytes"));
    }
    let jwks = fs::read(path).map_err(|error| error.to_string())?;
    Keys::parse(&jwks, allowed)
}

/// Keys that the issuer publishes.
#[derive(Debug)]
pub(super) struct UrlSource {
    url: Url,
    client: Client,
    allowed: Vec<Algorithm>,
    pace: Pace,
    fetched: RwLock<Fetched>,
    /// Held while one fetches: the others wait for the same answer.
    fetching: Mutex<()>,
}

#[derive(Debug, Default)]
struct Fetched {
    keys: Option<Arc<Keys>>,
    tried_at: Option<Instant>,
    good_at: Option<Instant>,
    flaw: String,
}

impl UrlSource {
    pub(super) fn open(url: &str, allowed: &[Algorithm], pace: Pace) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("auth.jwt: jwks {url:?}: {error}"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("auth.jwt: jwks: a URL with a user name or a password would end up in logs".into());
        }
        let direct = parsed.scheme() == "http" && is_loopback(&parsed);
        if parsed.scheme() != "https" && !direct {
            return Err(format!("auth.jwt: jwks {url:?}: only https, or http on this machine"));
        }
        // Reqwest has no provider of cryptography of its own. If there is one already, it stays.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(FETCH_MAX).redirect(redirect::Policy::none());
        let client = if direct { client.no_proxy() } else { client };
        let client = client.build().map_err(|error| format!("auth.jwt: {error}"))?;
        let allowed = allowed.to_vec();
        Ok(Self {
            url: parsed,
            client,
            allowed,
            pace,
            fetched: RwLock::default(),
            fetching: Mutex::default(),
        })
    }

    async fn find(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<DecodingKey>, JwtFlaw> {
        // One caller waits for fresh keys; the others go on with those that there are.
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
        let keys = fetched.keys.as_ref().ok_or_else(|| JwtFlaw::KeysUnavailable(fetched.flaw.clone()))?;
        Ok(keys.fitting(kid, algorithm))
    }

    fn has_keys(&self) -> bool {
        self.fetched.read().unwrap_or_else(PoisonError::into_inner).keys.is_some()
    }

    fn is_stale(&self) -> bool {
        let fetched = self.fetched.read().unwrap_or_else(PoisonError::into_inner);
        fetched.good_at.is_none_or(|at| at.elapsed() >= self.pace.refresh)
    }

    fn is_too_early(&self) -> bool {
        let fetched = self.fetched.read().unwrap_or_else(PoisonError::into_inner);
        let apart = if fetched.keys.is_some() { self.pace.apart } else { self.pace.apart_without_keys };
        fetched.tried_at.is_some_and(|at| at.elapsed() < apart)
    }

    /// Fetches unless it is too early. The fetch goes on if whoever asked goes away, so that callers who give up
    /// cannot keep the others from their keys.
    async fn fetch(self: &Arc<Self>) {
        if self.is_too_early() && self.fetching.try_lock().is_ok() {
            return;
        }
        let source = Arc::clone(self);
        // An error here is a process that is ending; what is known is then all that there will be.
        let _ended = tokio::spawn(async move { source.fetch_in_turn().await }).await;
    }

    async fn fetch_in_turn(&self) {
        let _turn = self.fetching.lock().await;
        if self.is_too_early() {
            return;
        }
        self.fetched.write().unwrap_or_else(PoisonError::into_inner).tried_at = Some(Instant::now());
        let answer = self.download().await.and_then(|jwks| Keys::parse(&jwks, &self.allowed));
        let mut fetched = self.fetched.write().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Ok(keys) => {
                fetched.keys = Some(Arc::new(keys));
                fetched.good_at = Some(Instant::now());
            }
            Err(flaw) => {
                tracing::warn!(url = %self.url, %flaw, "the issuer's keys were not fetched");
                fetched.flaw = flaw;
            }
        }
    }

    async fn download(&self) -> Result<Vec<u8>, String> {
        let answer = self.client.get(self.url.clone()).send().await;
        let mut answer = answer.map_err(|error| error.without_url().to_string())?;
        if answer.status() != reqwest::StatusCode::OK {
            return Err(format!("the answer is {}", answer.status()));
        }
        let mut jwks = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
            jwks.extend_from_slice(&part);
            if jwks.len() > JWKS_BYTES_MAX {
                return Err(format!("the answer is larger than {JWKS_BYTES_MAX} bytes"));
            }
        }
        Ok(jwks)
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}
