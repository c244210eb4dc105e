//! Authenticates requests by API key or token. Keys are read from the store and cached: for at most `FRESH` if other nodes
//! may revoke one.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use tenure_core::api_key::ApiKey;
use tenure_store::{Store, StoreKind};

use crate::auth::jwt::{Jwt, JwtFlaw};
use crate::auth::key::{PresentedKey, is_same_digest};
use crate::prelude::*;

/// How long cached keys may be used. On a shared store a change of keys is answered only after this time, so that every node
/// applies it by then.
const FRESH: Duration = Duration::from_millis(500);
/// Failed attempts per address in [`WINDOW`].
const FAILURES_MAX: u32 = 50;
const WINDOW: Duration = Duration::from_secs(10);

/// All API keys at one time.
#[derive(Debug)]
pub struct KeySnapshot {
    by_id: BTreeMap<Name, ApiKey>,
    read_at: Instant,
    has_jwt: bool,
}

impl KeySnapshot {
    /// A server with no keys and no `[auth.jwt]` is open. Revoked keys count: revoking the last one does not open it.
    pub fn is_open(&self) -> bool {
        self.by_id.is_empty() && !self.has_jwt
    }
}

pub struct Keyring {
    store: Store,
    keys: RwLock<Arc<KeySnapshot>>,
    jwt: Option<Jwt>,
    failures: Mutex<HashMap<IpAddr, (Instant, u32)>>,
    reading: tokio::sync::Mutex<()>,
}

impl Keyring {
    pub async fn open(store: Store, jwt: Option<Jwt>) -> Result<Self, tenure_store::StoreError> {
        let keys = RwLock::new(Arc::new(read(&store, jwt.is_some()).await?));
        let (failures, reading) = (Mutex::default(), tokio::sync::Mutex::new(()));
        Ok(Self { store, keys, jwt, failures, reading })
    }

    /// Whether other nodes may change the keys.
    pub fn is_shared(&self) -> bool {
        self.store.properties().kind == StoreKind::Postgres
    }

    /// Whether the server was open when the keys were last read.
    pub fn is_open(&self) -> bool {
        self.known().is_open()
    }

    fn known(&self) -> Arc<KeySnapshot> {
        Arc::clone(&self.keys.read().expect("the lock is never poisoned"))
    }

    /// The keys, read again if the cached ones may be stale.
    pub async fn current(&self) -> Result<Arc<KeySnapshot>> {
        let is_fresh = |keys: &KeySnapshot| !self.is_shared() || keys.read_at.elapsed() < FRESH;
        let known = self.known();
        if is_fresh(&known) {
            return Ok(known);
        }
        // One caller reads; the others wait for its result.
        let _reading = self.reading.lock().await;
        let known = self.known();
        if is_fresh(&known) { Ok(known) } else { self.reload().await }
    }

    /// After a change by this node: returns when every node applies it.
    pub async fn changed(&self) -> Result<()> {
        self.reload().await?;
        if self.is_shared() {
            tokio::time::sleep(FRESH).await;
        }
        Ok(())
    }

    async fn reload(&self) -> Result<Arc<KeySnapshot>> {
        let keys = Arc::new(read(&self.store, self.jwt.is_some()).await?);
        *self.keys.write().expect("the lock is never poisoned") = Arc::clone(&keys);
        Ok(keys)
    }

    /// The caller of an `Authorization` header.
    pub async fn identify(
        &self,
        keys: &KeySnapshot,
        authorization: Option<&str>,
        peer: Option<IpAddr>,
    ) -> Result<Caller> {
        let bearer = authorization.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let Some(token) = bearer else {
            return Err(Problem::new(
                ProblemCode::Unauthenticated,
                "send `Authorization: Bearer` with a key or a token",
            ));
        };
        let found = match PresentedKey::parse(token) {
            Some(presented) => by_key(keys, &presented),
            // Boxed: the future is large, since it may fetch the issuer's keys, and keys are the usual case.
            None => Box::pin(self.by_token(token)).await,
        };
        found.map_err(|error| match error {
            AuthError::Refused(reason) => self.failed(&reason, peer),
            AuthError::Unavailable(reason) => {
                tracing::error!(reason, "token verification unavailable");
                Problem::new(ProblemCode::StoreUnavailable, "the token issuer's keys are unavailable")
                    .retry_after(5)
            }
        })
    }

    async fn by_token(&self, token: &str) -> Result<Caller, AuthError> {
        let refused = |reason: &str| AuthError::Refused(reason.to_owned());
        let Some(jwt) = &self.jwt else { return Err(refused("not a key, and tokens are not accepted")) };
        let identity = jwt.verify(token).await.map_err(|flaw| match flaw {
            JwtFlaw::KeysUnavailable(reason) => AuthError::Unavailable(reason),
            flaw => AuthError::Refused(flaw.to_string()),
        })?;
        let (role, user) = (identity.role, identity.user.map(Into::into));
        if role == Role::Producer && user.is_none() {
            return Err(refused("producer token without a user"));
        }
        let credential = format!("jwt:{}", identity.subject).into();
        Ok(Caller { role, user, credential, expires_at: Some(Timestamp(identity.expires_at_unix * 1000)) })
    }

    /// Whether an authenticated caller is still valid: its key is not revoked, its token not expired.
    pub async fn still_admits(&self, caller: &Caller, now: Timestamp) -> bool {
        let Ok(keys) = self.current().await else { return true };
        let id =
            caller.credential.as_str().split_once(':').filter(|(kind, _)| *kind == "key").map(|(_, id)| id);
        let is_revoked = |id: &str| keys.by_id.get(id).is_none_or(|key| key.revoked_at.is_some());
        let was_open = caller.credential == "open";
        caller.expires_at.is_none_or(|expiry| now < expiry)
            && !id.is_some_and(is_revoked)
            && (!was_open || keys.is_open())
    }

    /// Counts a failure; an address with too many must wait. The reason is only logged.
    fn failed(&self, reason: &str, peer: Option<IpAddr>) -> Problem {
        tracing::info!(peer = ?peer, reason, "authentication failed");
        let mut failures = self.failures.lock().expect("the lock is never poisoned");
        failures.retain(|_, (since, _)| since.elapsed() < WINDOW);
        let count = peer.map_or(0, |peer| {
            let entry = failures.entry(peer).or_insert((Instant::now(), 0));
            entry.1 += 1;
            entry.1
        });
        if count > FAILURES_MAX {
            return Problem::new(ProblemCode::RateLimited, "too many failed attempts; try again later")
                .retry_after(WINDOW.as_secs());
        }
        Problem::new(ProblemCode::Unauthenticated, "the key or token is not valid")
    }
}

enum AuthError {
    /// The credential is not valid.
    Refused(String),
    /// The credential cannot be checked now.
    Unavailable(String),
}

fn by_key(keys: &KeySnapshot, presented: &PresentedKey) -> Result<Caller, AuthError> {
    let known = keys.by_id.get(presented.id.as_str());
    // Compared even for an unknown id, so that timing does not reveal which ids exist.
    let digest = known.map_or([0; 32], |key| key.digest);
    let matches = is_same_digest(&digest, &presented.digest);
    match known {
        Some(key) if matches && key.revoked_at.is_none() => {
            let credential = format!("key:{}", key.id).into();
            Ok(Caller { role: key.role, user: key.user_id.clone(), credential, expires_at: None })
        }
        Some(key) if matches => Err(AuthError::Refused(format!("key {} is revoked", key.id))),
        _ => Err(AuthError::Refused(format!("no key {} with this secret", presented.id))),
    }
}

async fn read(store: &Store, has_jwt: bool) -> Result<KeySnapshot, tenure_store::StoreError> {
    // Taken before the read, so that a change during it is not considered read.
    let read_at = Instant::now();
    let keys = store.api_keys().await?;
    Ok(KeySnapshot { by_id: keys.into_iter().map(|key| (key.id.clone(), key)).collect(), read_at, has_jwt })
}
