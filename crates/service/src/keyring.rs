//! Authenticates requests by API key or token. Keys are read from the store and cached: for at most `FRESH` if other nodes
//! may revoke one.

mod failures;
mod usage;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use tenure_config::JwtConfig;
use tenure_core::api_key::{ApiKey, KeyUse, Scopes};
use tenure_core::session::Session;
use tenure_store::{Store, StoreKind};
use tokio::sync::watch;

use crate::auth::jwt::{Jwt, JwtFlaw};
use crate::auth::key::{PresentedKey, is_same_digest};
use crate::prelude::*;
use crate::reloadable::Reloadable;
use failures::{Failures, WINDOW};
use usage::KeyUsage;

/// How long cached keys may be used. On a shared store a change of keys is answered only after this time, so that every node
/// applies it by then.
const FRESH: Duration = Duration::from_millis(500);

/// All API keys at one time.
#[derive(Debug)]
pub struct KeySnapshot {
    by_id: BTreeMap<Name, KeyEntry>,
    read_at: Instant,
    has_jwt: bool,
}

#[derive(Clone, Debug)]
struct KeyEntry {
    key: ApiKey,
    scopes: Arc<Scopes>,
    usage: Arc<KeyUsage>,
}

impl KeySnapshot {
    /// The usage of a key is kept when the keys are read again.
    fn new(keys: Vec<ApiKey>, read_at: Instant, has_jwt: bool, before: Option<&Self>) -> Self {
        let entry = |key: ApiKey| {
            let known = before.and_then(|before| before.by_id.get(&key.id));
            let usage = known.map(|known| Arc::clone(&known.usage)).unwrap_or_default();
            let scopes = known.filter(|known| *known.scopes == key.details.scopes);
            let scopes = scopes
                .map_or_else(|| Arc::new(key.details.scopes.clone()), |known| Arc::clone(&known.scopes));
            (key.id.clone(), KeyEntry { key, scopes, usage })
        };
        Self { by_id: keys.into_iter().map(entry).collect(), read_at, has_jwt }
    }

    /// Whether the keys are the same, apart from their use.
    fn is_same(&self, other: &Self) -> bool {
        let same = |one: &ApiKey, other: &ApiKey| {
            (&one.id, one.digest, one.revoked_at, &one.details)
                == (&other.id, other.digest, other.revoked_at, &other.details)
        };
        self.by_id.len() == other.by_id.len()
            && self.by_id.values().zip(other.by_id.values()).all(|(one, other)| same(&one.key, &other.key))
    }

    /// A server with no keys and no `[auth.jwt]` is open. Revoked keys count: revoking the last one does not open it.
    pub fn is_open(&self) -> bool {
        self.by_id.is_empty() && !self.has_jwt
    }
}

pub struct Keyring {
    store: Store,
    keys: RwLock<Arc<KeySnapshot>>,
    jwt: Reloadable<Option<Jwt>>,
    failures: Mutex<Failures>,
    reading: tokio::sync::Mutex<()>,
    /// Counts the changes of keys and ended sessions that this node knows of.
    changes: watch::Sender<u64>,
}

/// Whether an authenticated caller is still valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Valid,
    /// Its key is revoked, or its key, token or session has ended.
    Ended,
    /// The store cannot be read now.
    Unknown,
}

impl Keyring {
    pub async fn open(store: Store, jwt: Option<Jwt>) -> Result<Self, tenure_store::StoreError> {
        let keys = RwLock::new(Arc::new(read(&store, jwt.is_some(), None).await?));
        let (failures, reading) = (Mutex::default(), tokio::sync::Mutex::new(()));
        Ok(Self { store, keys, jwt: jwt.into(), failures, reading, changes: watch::Sender::new(0) })
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

    /// Opens the verifier of a configuration that was loaded again: the issuer's keys are read now.
    pub async fn reopen_jwt(&self, config: JwtConfig) -> Result<Jwt, String> {
        let running = self.jwt.get();
        Jwt::reopen(config, running.as_ref().as_ref()).await
    }

    /// Whether the server would be open with or without `[auth.jwt]`.
    pub fn would_be_open(&self, has_jwt: bool) -> bool {
        self.known().by_id.is_empty() && !has_jwt
    }

    /// Replaces the verifier of tokens. Without one, everything that is open with a token ends.
    pub async fn replace_jwt(&self, jwt: Option<Jwt>) {
        let _reading = self.reading.lock().await;
        let (has_jwt, known) = (jwt.is_some(), self.known());
        self.jwt.set(jwt);
        let keys = KeySnapshot { by_id: known.by_id.clone(), read_at: known.read_at, has_jwt };
        *self.keys.write().expect("the lock is never poisoned") = Arc::new(keys);
        self.recheck();
    }

    /// Lets everything that waits for an end of its credential check it again.
    pub fn recheck(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Reads the keys again while something waits for a change that another node may make.
    pub async fn watch(&self) {
        let mut ticks = tokio::time::interval(FRESH);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while self.is_shared() {
            ticks.tick().await;
            if self.changes.receiver_count() > 0
                && let Err(problem) = self.current().await
            {
                tracing::debug!(detail = problem.detail(), "keys not read");
            }
        }
    }

    /// Resolves when a caller is no longer valid.
    pub async fn ended(&self, caller: &Caller, now: impl Fn() -> Timestamp) {
        let mut changes = self.changes.subscribe();
        while self.admission(caller, now()).await != Admission::Ended {
            let left = caller.expires_at.map(|end| Duration::from_millis((end - now()).0.max(1)));
            let expiry = async {
                match left {
                    Some(left) => tokio::time::sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = changes.changed() => {}
                () = expiry => {}
            }
        }
    }

    /// After a change by this node: returns when every node applies it.
    pub async fn changed(&self) -> Result<()> {
        // Reads follow one another, so that an earlier one cannot replace the result of a later one.
        let reading = self.reading.lock().await;
        self.reload().await?;
        drop(reading);
        if self.is_shared() {
            tokio::time::sleep(FRESH).await;
        }
        Ok(())
    }

    async fn reload(&self) -> Result<Arc<KeySnapshot>> {
        let keys = Arc::new(read(&self.store, self.jwt.get().is_some(), Some(&self.known())).await?);
        let known = std::mem::replace(
            &mut *self.keys.write().expect("the lock is never poisoned"),
            Arc::clone(&keys),
        );
        if !keys.is_same(&known) {
            self.recheck();
        }
        Ok(keys)
    }

    /// The caller of an `Authorization` header at this time.
    pub async fn identify(
        &self,
        keys: &KeySnapshot,
        authorization: Option<&str>,
        peer: Option<IpAddr>,
        now: Timestamp,
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
            Some(presented) => by_key(keys, &presented, now),
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
        let jwt = self.jwt.get();
        let Some(jwt) = &*jwt else { return Err(refused("not a key, and tokens are not accepted")) };
        let identity = jwt.verify(token).await.map_err(|flaw| match flaw {
            JwtFlaw::KeysUnavailable(reason) => AuthError::Unavailable(reason),
            flaw => AuthError::Refused(flaw.to_string()),
        })?;
        let (role, user) = (identity.role, identity.user.map(Into::into));
        if role == Role::Producer && user.is_none() {
            return Err(refused("producer token without a user"));
        }
        let credential = format!("jwt:{}", identity.subject).into();
        let expires_at = Some(Timestamp(identity.expires_at_unix * 1000));
        Ok(Caller { expires_at, ..Caller::new(role, user, credential) })
    }

    /// The caller of a session, unless its credential has ended.
    pub async fn caller_of(&self, session: &Session, now: Timestamp) -> Result<Option<Caller>> {
        let keys = self.current().await?;
        let earlier =
            |end: Option<Timestamp>| Some(end.map_or(session.expires_at, |end| end.min(session.expires_at)));
        if session.expires_at <= now {
            return Ok(None);
        }
        if session.credential == "open" {
            let open = || Caller { expires_at: earlier(None), ..Caller::open() };
            return Ok(keys.is_open().then(open));
        }
        if let Some(secret) = session.secret {
            let id = session.credential.as_str().strip_prefix("key:").unwrap_or_default();
            let entry = keys.by_id.get(id);
            let valid = entry.and_then(|entry| Some((entry, entry.key.valid_until(&secret, now).ok()?)));
            return Ok(valid.map(|(entry, end)| {
                entry.usage.used(now);
                entry.caller(secret, earlier(end))
            }));
        }
        let by_token = session.role.filter(|_| keys.has_jwt).map(|role| Caller {
            expires_at: earlier(None),
            ..Caller::new(role, session.user_id.clone(), session.credential.clone())
        });
        Ok(by_token)
    }

    /// Whether an authenticated caller is still valid: its key is not revoked, its key, token or session has not ended.
    pub async fn admission(&self, caller: &Caller, now: Timestamp) -> Admission {
        let Ok(keys) = self.current().await else { return Admission::Unknown };
        if !Self::has_credential(&keys, caller, now) {
            return Admission::Ended;
        }
        match &caller.session {
            None => Admission::Valid,
            Some(digest) => match self.store.session(digest.clone()).await {
                Ok(Some(_)) => Admission::Valid,
                Ok(None) => Admission::Ended,
                Err(_) => Admission::Unknown,
            },
        }
    }

    fn has_credential(keys: &KeySnapshot, caller: &Caller, now: Timestamp) -> bool {
        let id =
            caller.credential.as_str().split_once(':').filter(|(kind, _)| *kind == "key").map(|(_, id)| id);
        let is_valid = |id: &str| {
            let found = keys.by_id.get(id).zip(caller.secret.as_ref());
            found.is_some_and(|(entry, secret)| entry.key.valid_until(secret, now).is_ok())
        };
        let was_open = caller.credential == "open";
        let by_token = caller.credential.as_str().starts_with("jwt:");
        caller.expires_at.is_none_or(|expiry| now < expiry)
            && id.is_none_or(is_valid)
            && (!was_open || keys.is_open())
            && (!by_token || keys.has_jwt)
    }

    /// The uses of keys that are to be written to the store, as a command: of each key at most one per minute.
    pub fn take_uses(&self) -> Option<CommandEnvelope> {
        let keys = self.known();
        let uses = keys.by_id.values().filter_map(|entry| {
            let at = entry.usage.take(entry.key.last_used_at)?;
            Some(KeyUse { key: entry.key.id.clone(), at })
        });
        let uses: Vec<KeyUse> = uses.collect();
        let command =
            |uses| CommandEnvelope { by: "server".into(), key: None, command: Command::KeysUsed(uses) };
        (!uses.is_empty()).then(|| command(uses))
    }

    /// Counts a failure; a network with too many must wait. The reason is only logged.
    pub(crate) fn failed(&self, reason: &str, peer: Option<IpAddr>) -> Problem {
        tracing::info!(peer = ?peer, reason, "authentication failed");
        let mut failures = self.failures.lock().expect("the lock is never poisoned");
        if peer.is_some_and(|peer| failures.count(peer, Instant::now())) {
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

fn by_key(keys: &KeySnapshot, presented: &PresentedKey, now: Timestamp) -> Result<Caller, AuthError> {
    let refused = |reason: String| AuthError::Refused(reason);
    let unknown = || refused(format!("no key {} with this secret", presented.id));
    let entry = keys.by_id.get(presented.id.as_str());
    // Compared even for an unknown id, so that timing does not reveal which ids exist.
    let current = entry.map_or([0; 32], |entry| entry.key.digest);
    let mut matching = is_same_digest(&current, &presented.digest).then_some(current);
    for earlier in entry.iter().flat_map(|entry| &entry.key.details.earlier_secrets) {
        matching = matching.or(is_same_digest(&earlier.digest, &presented.digest).then_some(earlier.digest));
    }
    let (entry, secret) = entry.zip(matching).ok_or_else(unknown)?;
    let key = &entry.key;
    let expires_at =
        key.valid_until(&secret, now).map_err(|flaw| refused(format!("key {}: {flaw}", key.id)))?;
    entry.usage.used(now);
    Ok(entry.caller(secret, expires_at))
}

impl KeyEntry {
    fn caller(&self, secret: [u8; 32], expires_at: Option<Timestamp>) -> Caller {
        Caller {
            roles: self.key.roles().collect(),
            user: self.key.user_id.clone(),
            credential: format!("key:{}", self.key.id).into(),
            expires_at,
            scopes: Arc::clone(&self.scopes),
            secret: Some(secret),
            session: None,
        }
    }
}

async fn read(
    store: &Store,
    has_jwt: bool,
    before: Option<&KeySnapshot>,
) -> Result<KeySnapshot, tenure_store::StoreError> {
    // Taken before the read, so that a change during it is not considered read.
    let read_at = Instant::now();
    Ok(KeySnapshot::new(store.api_keys().await?, read_at, has_jwt, before))
}
