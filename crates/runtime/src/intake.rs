//! Takes in the requests that applications have committed in SQL. Every node does; the commit decides which node is first.
//!
//! Requests of one page are one command, so that they are judged in the order of the calls. A page that cannot be committed stays
//! where it is and is read again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tenure_core::command::Cancel;
use tenure_core::intake::{IntakeAction, IntakeRequest};
use tenure_core::job::CancelMode;
use tenure_core::json::Json;
use tenure_core::lifecycle::Trigger;
use tenure_store::{
    CommittedRequest, EnqueueRequest, IntakeCursor, IntakePage, Outbox, RequestKind, StoreKind,
};
use tokio::time::Instant;

use crate::admission::{self, NewJob};
use crate::prelude::*;
use crate::{Failure, Inner, Runtime};

/// Time between two looks at an empty intake: with the commit of the batch, a request is claimable within 50 ms.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Delay after a page that could not be read or committed.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often failures are warnings; each lasts for [`RETRY_PAUSE`].
const WARN_EVERY: Duration = Duration::from_mins(1);
/// How often everything is read again: a failover may have gone unnoticed, and requests may have failed alone.
const REREAD_EVERY: Duration = Duration::from_mins(1);
/// And at most every 200 times its last duration: a long-running snapshot elsewhere keeps the rows of all requests since it
/// began, so that this may take seconds.
const REREAD_SHARE: u32 = 200;

/// Where requests come from.
#[derive(Debug)]
enum Source {
    /// The store's own database: rows are removed by the commit that judges them.
    Store,
    /// The database of an application: rows are removed afterwards.
    Outbox(Outbox),
}

/// When the oldest request was made that a database had at the last look; none if it was empty.
#[derive(Debug)]
pub struct IntakeAge {
    database: Name,
    oldest: AtomicI64,
}

const EMPTY: i64 = i64::MAX;

impl IntakeAge {
    pub(crate) fn of(database: &str) -> Arc<Self> {
        Arc::new(Self { database: database.into(), oldest: AtomicI64::new(EMPTY) })
    }

    /// The name of the database.
    pub fn database(&self) -> &Name {
        &self.database
    }

    /// How long the oldest request has waited.
    pub fn age(&self, now: Timestamp) -> Millis {
        let oldest = self.oldest.load(Ordering::Relaxed);
        Millis(now.0.saturating_sub(oldest).max(0) as u64)
    }

    fn saw(&self, page: &IntakePage) {
        let oldest = page.requests.iter().map(|request| request.requested_at.0).min();
        self.oldest.store(oldest.unwrap_or(EMPTY), Ordering::Relaxed);
    }
}

impl Runtime {
    /// How long requests have waited, for each database with an intake.
    pub fn intake_ages(&self) -> &[Arc<IntakeAge>] {
        &self.inner.intake_ages
    }
}

/// The ages of the store, whose intake is always empty if it is embedded, and of the databases of applications.
pub(crate) fn ages(outboxes: &[Outbox]) -> Vec<Arc<IntakeAge>> {
    ["store"].into_iter().chain(outboxes.iter().map(Outbox::database)).map(IntakeAge::of).collect()
}

/// A task for each source, in the order of [`ages`].
pub(crate) fn tasks(inner: &Arc<Inner>) -> Vec<impl Future<Output = ()> + use<>> {
    let outboxes = inner.options.outboxes.iter().cloned().map(Source::Outbox);
    let sources = [Source::Store].into_iter().chain(outboxes).zip(&inner.intake_ages);
    let is_empty = |source: &Source| {
        matches!(source, Source::Store) && inner.store.properties().kind != StoreKind::Postgres
    };
    let sources = sources.filter(|(source, _)| !is_empty(source));
    sources.map(|(source, age)| keep_taking_in(Arc::clone(inner), source, Arc::clone(age))).collect()
}

async fn keep_taking_in(inner: Arc<Inner>, source: Source, age: Arc<IntakeAge>) {
    let (mut cursor, mut reread_at) = (IntakeCursor::default(), Instant::now() + REREAD_EVERY);
    let (mut pause, mut warned_at) = (Duration::ZERO, None);
    while inner.pause(pause).await {
        let began = Instant::now();
        let is_reread = began >= reread_at;
        // If everything cannot be read in time, new requests are still taken in.
        let from = if is_reread { IntakeCursor::default() } else { cursor.clone() };
        let taken = inner.take_page(&source, &from, &age).await;
        if is_reread {
            reread_at = Instant::now() + REREAD_EVERY.max(began.elapsed() * REREAD_SHARE);
        }
        pause = match taken {
            Ok((next, is_empty)) => {
                cursor = next;
                if is_empty { LOOK_EVERY } else { Duration::ZERO }
            }
            Err(error) => {
                let database = age.database().as_str();
                if is_due(&mut warned_at, Instant::now()) {
                    tracing::warn!(%database, %error, "requests not taken in");
                } else {
                    tracing::debug!(%database, %error, "requests not taken in");
                }
                RETRY_PAUSE
            }
        };
    }
}

/// Whether a failure is a warning: the first one, and then one a minute.
fn is_due(warned_at: &mut Option<Instant>, now: Instant) -> bool {
    let is_due = warned_at.is_none_or(|at| now >= at + WARN_EVERY);
    if is_due {
        *warned_at = Some(now);
    }
    is_due
}

impl Inner {
    /// Takes in one page; returns the cursor after it, and whether it was empty.
    async fn take_page(
        &self,
        source: &Source,
        cursor: &IntakeCursor,
        age: &IntakeAge,
    ) -> Result<(IntakeCursor, bool), Failure> {
        let page = match source {
            Source::Store => self.store.intake(cursor.clone()).await,
            Source::Outbox(outbox) => outbox.page(cursor).await,
        };
        let page = page?;
        age.saw(&page);
        if page.requests.is_empty() {
            return Ok((page.next, true));
        }
        self.take_in(source, &page.requests).await?;
        if let Source::Outbox(outbox) = source {
            let places = page.requests.iter().map(|request| request.place);
            outbox.remove(places).await?;
        }
        Ok((page.next, false))
    }

    /// Judges requests in one commit. If one of them fails, as a corrupt row can make it, the others are judged one by one.
    async fn take_in(&self, source: &Source, requests: &[CommittedRequest]) -> Result<(), Failure> {
        match self.judge(source, requests).await {
            Err(failure) if failure.may_concern_one_command() => {}
            judged => return judged,
        }
        for request in requests {
            match self.judge(source, std::slice::from_ref(request)).await {
                Err(failure) if failure.may_concern_one_command() => {
                    tracing::error!(job = %request.job, %failure, "request not taken in");
                }
                judged => judged?,
            }
        }
        Ok(())
    }

    async fn judge(&self, source: &Source, requests: &[CommittedRequest]) -> Result<(), Failure> {
        let own = matches!(source, Source::Store);
        let command = Command::TakeIn(requests.iter().map(|request| self.request(request, own)).collect());
        let envelope = CommandEnvelope { by: "intake".into(), key: None, command };
        self.submit(envelope).await.map(drop)
    }

    /// A request, checked against its type.
    fn request(&self, committed: &CommittedRequest, own: bool) -> IntakeRequest {
        let CommittedRequest { place, job, receipt, requested_by, requested_at, kind } = committed;
        let by: CommandOrigin = Actor(format!("sql:{requested_by}").into()).into();
        let action = match kind {
            RequestKind::Enqueue(new) => IntakeAction::Create {
                job_type: new.job_type.as_str().into(),
                queue: new.queue.as_deref().map(Into::into),
                user_id: new.user_id.as_deref().map(Into::into),
                correlation_id: new.correlation_id.as_deref().map(Into::into),
                create: self.admit(new, *job, &by),
            },
            RequestKind::Cancel { hard, reason } => {
                let mode = if *hard { CancelMode::Hard } else { CancelMode::Soft };
                let cancel = Cancel { job: *job, mode, reason: reason.clone() };
                IntakeAction::Act { trigger: Trigger::Cancel, command: Ok(Box::new(Command::Cancel(cancel))) }
            }
            RequestKind::Signal { name, note } => {
                let payload = note.as_deref().map(|note| parsed("#/note", note)).transpose();
                let signal = |payload| Command::Signal { job: *job, name: name.as_str().into(), payload };
                let command = payload.map(|payload| Box::new(signal(payload)));
                IntakeAction::Act { trigger: Trigger::Signal(name.as_str().into()), command }
            }
        };
        let place = own.then_some(*place);
        IntakeRequest { place, job: *job, receipt: *receipt, by, requested_at: *requested_at, action }
    }

    fn admit(&self, new: &EnqueueRequest, id: JobId, by: &CommandOrigin) -> Result<Box<Create>, Refusal> {
        if new.run_at.is_some_and(|at| !at.is_writable()) {
            return Err(Refusal::invalid("#/run_at", "must be from the year 1970 to 9999"));
        }
        let payload = parsed("#/payload", &new.payload)?;
        let key = new.idempotency_key.as_deref();
        let key = key.map(|key| IdempotencyKey { key: key.into(), fingerprint: fingerprint(new, &payload) });
        let name = |text: &Option<String>| text.as_deref().map(Into::into);
        let job = NewJob {
            by: by.clone(),
            user_id: new.user_id.as_deref().map(Into::into),
            queue: new.queue.as_deref().map(Into::into),
            priority: new.priority,
            when: new.run_at.map_or(When::Now, When::At),
            links: Links { correlation_id: name(&new.correlation_id), ..Links::default() },
            key,
            ..NewJob::new(&new.job_type, payload)
        };
        match admission::admit(&self.active(), &self.flow(), job, id, self.clock.now())?.command {
            Command::Create(create) => Ok(create),
            _ => unreachable!("what is admitted is a creation"),
        }
    }
}

fn parsed(pointer: &str, text: &str) -> Result<Json, Refusal> {
    Json::parse(text).map_err(|flaw| Refusal::invalid(pointer, flaw.to_string()))
}

/// The digest of the body that the HTTP API would get for the same request: the same key may be used there.
fn fingerprint(new: &EnqueueRequest, payload: &Json) -> [u8; 32] {
    let mut body = serde_json::Map::new();
    let texts = [
        ("type", Some(&new.job_type)),
        ("queue", new.queue.as_ref()),
        ("user_id", new.user_id.as_ref()),
        ("correlation_id", new.correlation_id.as_ref()),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            body.insert(name.to_owned(), text.as_str().into());
        }
    }
    if let Some(priority) = new.priority {
        body.insert("priority".to_owned(), priority.into());
    }
    if let Some(run_at) = new.run_at {
        body.insert("run_at".to_owned(), run_at.to_string().into());
    }
    let others = serde_json::Value::Object(body).to_string();
    let others = others.strip_suffix('}').unwrap_or(&others);
    Json::digest_of(&format!("{others},\"payload\":{}}}", payload.as_str()), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_of_an_intake_is_a_warning_and_then_one_a_minute() {
        let (mut warned_at, start) = (None, Instant::now());
        let seconds = [0, 1, 59, 60, 61, 119, 120, 1000];
        let due = seconds.map(|at| is_due(&mut warned_at, start + Duration::from_secs(at)));
        assert_eq!(due, [true, false, false, true, false, false, true, true]);
    }
}
