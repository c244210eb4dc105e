//! Keys and tokens: who is behind what a request carries. Keys are kept in the store, and looked at here from memory:
//! for no longer than [`FRESH`], where other nodes may revoke one.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use tenure_core::api_key::{ApiKey, Role};
use tenure_core::id::Name;
use tenure_core::time::Timestamp;
use tenure_store::{AnyStore, Store as _};

use crate::auth::jwt::{Jwt, JwtFlaw};
use crate::auth::key::{Presented, same};
use crate::caller::Caller;
use crate::problem::{Problem, RATE_LIMITED, STORE_UNAVAILABLE, UNAUTHENTICATED};

/// For how long a node may go by what it read. On a shared store a change of the keys is answered after this, so that
/// when it is answered every node goes by it.
const FRESH: Duration = Duration::from_millis(500);
/// Failed attempts that one address has in [`WINDOW`].
const FAILURES_MAX: u32 = 50;
const WINDOW: Duration = Duration::from_secs(10);

/// Every key, as it was read.
#[derive(Debug)]
pub struct Keys {
    by_id: BTreeMap<Name, ApiKey>,
    read_at: Instant,
    has_jwt: bool,
}

impl Keys {
    /// Without any key and without tokens the server is open. A revoked key is a key: revoking the last one locks.
    pub fn is_open(&self) -> bool {
        self.by_id.is_empty() && !self.has_jwt
    }
}

pub struct Keyring {
    store: AnyStore,
    keys: RwLock<Arc<Keys>>,
    jwt: Option<Jwt>,
    failures: Mutex<HashMap<IpAddr, (Instant, u32)>>,
    reading: tokio::sync::Mutex<()>,
}

impl Keyring {
    pub async fn open(store: AnyStore, jwt: Option<Jwt>) -> Result<Self, tenure_store::StoreError> {
        let keys = RwLock::new(Arc::new(read(&store, jwt.is_some()).await?));
        let (failures, reading) = (Mutex::default(), tokio::sync::Mutex::new(()));
        Ok(Self { store, keys, jwt, failures, reading })
    }

    /// Whether other nodes may change the keys.
    pub fn is_shared(&self) -> bool {
        matches!(self.store, AnyStore::Postgres(_))
    }

    /// Whether there was no key when they were last read.
    pub fn is_open(&self) -> bool {
        self.known().is_open()
    }

    fn known(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().expect("nobody panics while replacing the keys"))
    }

    /// The keys, read again if they may be out of date.
    pub async fn current(&self) -> Result<Arc<Keys>, Problem> {
        let is_fresh = |keys: &Keys| !self.is_shared() || keys.read_at.elapsed() < FRESH;
        let known = self.known();
        if is_fresh(&known) {
            return Ok(known);
        }
        // One reads for all who wait.
        let _reading = self.reading.lock().await;
        let known = self.known();
        if is_fresh(&known) { Ok(known) } else { self.reload().await }
    }

    /// After a change by this node: returns when every node goes by it.
    pub async fn changed(&self) -> Result<(), Problem> {
        self.reload().await?;
        if self.is_shared() {
            tokio::time::sleep(FRESH).await;
        }
        Ok(())
    }

    async fn reload(&self) -> Result<Arc<Keys>, Problem> {
        let keys = Arc::new(read(&self.store, self.jwt.is_some()).await?);
        *self.keys.write().expect("nobody panics while replacing the keys") = Arc::clone(&keys);
        Ok(keys)
    }

    /// Who is behind an `Authorization` header.
    pub async fn identify(
        &self,
        keys: &Keys,
        authorization: Option<&str>,
        peer: Option<IpAddr>,
    ) -> Result<Caller, Problem> {
        let bearer = authorization.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let Some(token) = bearer else {
            return Err(Problem::new(&UNAUTHENTICATED, "send `Authorization: Bearer` with a key or a token"));
        };
        let found = match Presented::parse(token) {
            Some(presented) => by_key(keys, &presented),
            // Boxed, since few come with one, and it is large: it may have to fetch the issuer's keys.
            None => Box::pin(self.by_token(token)).await,
        };
        found.map_err(|denied| match denied {
            Denied::For(why) => self.failed(&why, peer),
            Denied::Unknown(why) => {
                tracing::error!(why, "tokens cannot be checked");
                Problem::new(&STORE_UNAVAILABLE, "the issuer's keys cannot be had now").retry_after(5)
            }
        })
    }

    async fn by_token(&self, token: &str) -> Result<Caller, Denied> {
        let denied = |why: &str| Denied::For(why.to_owned());
        let Some(jwt) = &self.jwt else { return Err(denied("neither a key nor a token that is taken here")) };
        let identity = jwt.verify(token).await.map_err(|flaw| match flaw {
            JwtFlaw::KeysUnavailable(why) => Denied::Unknown(why),
            flaw => Denied::For(flaw.to_string()),
        })?;
        let role = Role::parse(&identity.role).ok_or_else(|| denied("a token with an unknown role"))?;
        let user = identity.user.map(Into::into);
        if role == Role::Producer && user.is_none() {
            return Err(denied("a producer's token without a user"));
        }
        let credential = format!("jwt:{}", identity.subject).into();
        Ok(Caller { role, user, credential, until: Some(Timestamp(identity.expires_at_unix * 1000)) })
    }

    /// Whether a caller who was admitted still would be: his key is not revoked, his token not expired.
    pub async fn still_admits(&self, caller: &Caller, now: Timestamp) -> bool {
        let Ok(keys) = self.current().await else { return true };
        let id =
            caller.credential.as_str().split_once(':').filter(|(kind, _)| *kind == "key").map(|(_, id)| id);
        let is_revoked = |id: &str| keys.by_id.get(id).is_none_or(|key| key.revoked_at.is_some());
        let was_open = caller.credential == "open";
        caller.until.is_none_or(|until| now < until)
            && !id.is_some_and(is_revoked)
            && (!was_open || keys.is_open())
    }

    /// Counts a failure; one address has so many, and then must wait. The reason is for the log alone.
    fn failed(&self, why: &str, peer: Option<IpAddr>) -> Problem {
        tracing::info!(peer = ?peer, why, "not authenticated");
        let mut failures = self.failures.lock().expect("nobody panics while counting failures");
        failures.retain(|_, (since, _)| since.elapsed() < WINDOW);
        let count = peer.map_or(0, |peer| {
            let entry = failures.entry(peer).or_insert((Instant::now(), 0));
            entry.1 += 1;
            entry.1
        });
        if count > FAILURES_MAX {
            return Problem::new(&RATE_LIMITED, "too many failed attempts").retry_after(WINDOW.as_secs());
        }
        Problem::new(&UNAUTHENTICATED, "the key or token is not valid")
    }
}

/// Why somebody is not admitted.
enum Denied {
    /// For a reason of his.
    For(String),
    /// We cannot tell.
    Unknown(String),
}

fn by_key(keys: &Keys, presented: &Presented) -> Result<Caller, Denied> {
    let known = keys.by_id.get(presented.id.as_str());
    // Compared in any case, so that time does not tell which ids are there.
    let digest = known.map_or([0; 32], |key| key.digest);
    let matches = same(&digest, &presented.digest);
    match known {
        Some(key) if matches && key.revoked_at.is_none() => {
            let credential = format!("key:{}", key.id).into();
            Ok(Caller { role: key.role, user: key.user_id.clone(), credential, until: None })
        }
        Some(key) if matches => Err(Denied::For(format!("key {} is revoked", key.id))),
        _ => Err(Denied::For(format!("no key {} with this secret", presented.id))),
    }
}

async fn read(store: &AnyStore, has_jwt: bool) -> Result<Keys, tenure_store::StoreError> {
    // Taken before the read: what changes meanwhile is younger than this.
    let read_at = Instant::now();
    let keys = store.api_keys().await?;
    Ok(Keys { by_id: keys.into_iter().map(|key| (key.id.clone(), key)).collect(), read_at, has_jwt })
}
