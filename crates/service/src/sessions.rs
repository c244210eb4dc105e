//! Sessions of the dashboard. A browser keeps a random id; the store keeps its digest with the credential that was presented,
//! so that a session is valid on every node, ends with the credential, and can be ended alone.

use ring::rand::{SecureRandom as _, SystemRandom};
use tenure_core::session::{NewSession, Session};

use crate::auth::key::{digest_of, hex};
use crate::prelude::*;

/// The longest session: a working day.
pub const SESSION_TIME: Millis = Millis(12 * 3_600_000);
const ID_BYTES: usize = 32;

/// A session that has begun. Its id exists only here and in the browser.
pub struct StartedSession {
    pub id: String,
    pub lasts: Millis,
}

/// Begins a session for a caller that presented its credential.
pub async fn begin(service: &Service, caller: &Caller) -> Result<StartedSession> {
    let (id, now) = (random_id(), service.runtime().now());
    let session = longest(caller, now);
    let expires_at = session.expires_at;
    let new = NewSession { digest: digest(&id), session };
    service.submit(caller, None, Command::BeginSession(Box::new(new))).await?;
    Ok(StartedSession { id, lasts: expires_at - now })
}

/// The id of a new session, in hex.
pub(crate) fn random_id() -> String {
    let mut random = [0; ID_BYTES];
    SystemRandom::new().fill(&mut random).expect("the operating system has random bytes");
    hex(&random)
}

/// A session with the credential of its caller, for as long as a session may last.
pub(crate) fn longest(caller: &Caller, now: Timestamp) -> Session {
    let end = now + SESSION_TIME;
    let is_token = caller.secret.is_none();
    Session {
        credential: caller.credential.clone(),
        secret: caller.secret,
        role: caller.roles.iter().next().filter(|_| is_token),
        user_id: caller.user.clone().filter(|_| is_token),
        expires_at: caller.expires_at.map_or(end, |at| at.min(end)),
        stream: None,
    }
}

/// The caller of a session. Refuses one that has ended, or whose credential has.
pub async fn caller(service: &Service, id: &str) -> Result<Caller> {
    let ended = || Problem::new(ProblemCode::Unauthenticated, "the session has ended; sign in again");
    let digest = digest(id);
    let session = service.store().session(digest.clone()).await?;
    let session = session.filter(|session| session.stream.is_none()).ok_or_else(ended)?;
    let caller = service.keyring().caller_of(&session, service.runtime().now()).await?;
    caller.map(|caller| Caller { session: Some(digest), ..caller }).ok_or_else(ended)
}

/// Ends a session. Pages that are open with it are closed.
pub async fn end(service: &Service, caller: &Caller, id: &str) -> Result<()> {
    service.submit(caller, None, Command::EndSession(digest(id))).await?;
    service.keyring().recheck();
    Ok(())
}

fn digest(id: &str) -> Name {
    hex(&digest_of(id.as_bytes())).into()
}
