//! Tokens for the stream of one job, for browsers, whose `EventSource` sends no header. A token is the random id of a session
//! that is bound to the job: the store keeps its digest with the credential that asked for it, so that it is valid on every
//! node and ends with that credential. Nothing but [`caller`] accepts it, and only the stream of its job calls that.

use std::net::IpAddr;

use tenure_core::session::{NewSession, Session, StreamGrant};

use crate::auth::key::{digest_of, hex};
use crate::prelude::*;
use crate::sessions;

/// How long a token is valid, from its creation or from the last time that its stream was seen open.
pub const TOKEN_TIME: Millis = Millis(5 * 60_000);
/// An open stream extends a token that is valid for a shorter time than this, so about once a minute.
const KEPT_TIME: Millis = Millis(4 * 60_000);
/// Begins every token, so that scanners recognise a leaked one.
const PREFIX: &str = "tns_";

/// A new token. Its text exists only here and in the answer.
pub struct IssuedToken {
    pub text: String,
    pub expires_at: Timestamp,
}

/// Issues a token for the stream of a job, which the caller must be allowed to see.
pub async fn issue(service: &Service, caller: &Caller, job: JobId) -> Result<IssuedToken> {
    let (text, now) = (format!("{PREFIX}{}", sessions::random_id()), service.runtime().now());
    let longest = sessions::longest(caller, now);
    let ends_at = longest.expires_at;
    let expires_at = (now + TOKEN_TIME).min(ends_at);
    let session = Session { expires_at, stream: Some(StreamGrant { job, ends_at }), ..longest };
    let new = NewSession { digest: digest(&text), session };
    service.submit(caller, None, Command::BeginSession(Box::new(new))).await?;
    Ok(IssuedToken { text, expires_at })
}

/// The caller that a token stands for, on the stream of its job.
pub async fn caller(
    service: &Service,
    job: Option<JobId>,
    token: &str,
    peer: Option<IpAddr>,
) -> Result<(Caller, OpenToken)> {
    let keyring = service.keyring();
    let (digest, now) = (digest(token), service.runtime().now());
    let session = service.store().session(digest.clone()).await?;
    let granted = session.and_then(|session| Some((session.stream?, session)));
    let granted = granted.filter(|(stream, session)| Some(stream.job) == job && session.expires_at > now);
    let Some((stream, session)) = granted else {
        return Err(keyring.failed("stream token unknown, expired or of another job", peer));
    };
    // An open stream is limited by the last end, which its token reaches by being extended.
    let lasting = Session { expires_at: stream.ends_at, ..session.clone() };
    match keyring.caller_of(&lasting, now).await? {
        Some(caller) => Ok((caller, OpenToken { digest, session })),
        None => Err(keyring.failed("credential of a stream token has ended", peer)),
    }
}

/// The token of an open stream.
#[derive(Clone, Debug)]
pub struct OpenToken {
    digest: Name,
    session: Session,
}

impl OpenToken {
    /// Extends the token, if that is due, so that the stream can be opened again after its connection broke. Without a store
    /// the next call tries again.
    pub async fn extend(&mut self, service: &Service, caller: &Caller) {
        let now = service.runtime().now();
        let end = self.session.stream.map_or(now, |stream| stream.ends_at.min(now + TOKEN_TIME));
        if now + KEPT_TIME < self.session.expires_at || end <= self.session.expires_at {
            return;
        }
        let session = Session { expires_at: end, ..self.session.clone() };
        let new = NewSession { digest: self.digest.clone(), session };
        match service.submit(caller, None, Command::BeginSession(Box::new(new))).await {
            Ok(_) => self.session.expires_at = end,
            Err(problem) => tracing::debug!(detail = problem.detail(), "stream token not extended"),
        }
    }
}

/// The key of its row, under which no session of the dashboard is looked up, not by earlier versions either.
fn digest(token: &str) -> Name {
    format!("stream:{}", hex(&digest_of(token.as_bytes()))).into()
}
