//! Requests that applications have committed in SQL, as a node reads them before it takes them in.

use tenure_core::intake::IntakePlace;

use crate::prelude::*;

/// Requests that are read at once.
pub(crate) const INTAKE_ROWS_MAX: usize = 256;
/// Bytes of payloads that are read at once, about.
pub(crate) const INTAKE_BYTES_MAX: usize = 4 << 20;

/// A request as it was committed: its shape is checked, nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct CommittedRequest {
    pub place: IntakePlace,
    /// The new job, or the one to cancel or to signal.
    pub job: JobId,
    /// Identifies the request; for a new job its id.
    pub receipt: JobId,
    /// The role of the database that was logged in.
    pub requested_by: String,
    pub requested_at: Timestamp,
    pub kind: RequestKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RequestKind {
    Enqueue(Box<EnqueueRequest>),
    Cancel {
        hard: bool,
        reason: Option<String>,
    },
    Signal {
        name: String,
        /// JSON, unchecked.
        note: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct EnqueueRequest {
    pub job_type: String,
    /// JSON, unchecked.
    pub payload: String,
    pub idempotency_key: Option<String>,
    pub queue: Option<String>,
    pub priority: Option<i32>,
    pub run_at: Option<Timestamp>,
    pub user_id: Option<String>,
    pub correlation_id: Option<String>,
}

impl RequestKind {
    /// Bytes of the texts that callers choose the size of.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Enqueue(new) => new.payload.len(),
            Self::Cancel { reason, .. } => reason.as_ref().map_or(0, String::len),
            Self::Signal { note, .. } => note.as_ref().map_or(0, String::len),
        }
    }
}

/// Requests in the order in which they are taken in, and where the next page begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntakePage {
    pub requests: Vec<CommittedRequest>,
    /// For the next page, if these requests are settled.
    pub next: IntakeCursor,
}

/// The transactions whose effects a statement sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The first transaction that had not begun.
    pub(crate) end: i64,
    /// Those before it that were running.
    pub(crate) running: Vec<i64>,
}

impl Snapshot {
    /// Parses `xmin:xmax:running,…`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (_, end, running) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        let running = running.split(',').filter(|id| !id.is_empty()).map(str::parse);
        Some(Self { end, running: running.collect::<Result<_, _>>().ok()? })
    }
}

/// How far a node has read the intake. Numbers are given before the commit, so a later commit may have a lower one: the cursor is the
/// snapshot of an earlier look, and everything that was not visible to it comes next. Rows that were removed since, which
/// another transaction may keep from being cleaned up, are not read again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeCursor {
    /// Everything visible to this snapshot is settled.
    pub(crate) settled: Snapshot,
    /// A look that takes several pages: its first snapshot, and the last settled place.
    pub(crate) look: Option<(Snapshot, IntakePlace)>,
}

impl IntakeCursor {
    /// Everything of transactions before this one is settled.
    pub fn settled_before(transaction: i64) -> Self {
        Self { settled: Snapshot { end: transaction, running: Vec::new() }, look: None }
    }

    /// Whether nothing is settled, so that everything is read.
    pub fn is_first(&self) -> bool {
        *self == Self::default()
    }

    /// The place after which the next page begins.
    pub(crate) fn after(&self) -> IntakePlace {
        self.look.as_ref().map_or(IntakePlace { transaction: -1, number: -1 }, |(_, place)| *place)
    }

    /// The cursor after a page. The look ends with a page that is not full, and at the end of its first snapshot: later transactions
    /// must not delay those that began before and commit late.
    pub(crate) fn advance(&self, snapshot: Snapshot, requests: &[CommittedRequest]) -> Self {
        let first = self.look.as_ref().map_or(snapshot, |(first, _)| first.clone());
        let bytes: usize = requests.iter().map(|request| request.kind.bytes()).sum();
        let is_full = requests.len() >= INTAKE_ROWS_MAX || bytes >= INTAKE_BYTES_MAX;
        match requests.last().filter(|last| is_full && last.place.transaction < first.end) {
            Some(last) => Self { settled: self.settled.clone(), look: Some((first, last.place)) },
            None => Self { settled: first, look: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(transaction: i64, number: i64) -> CommittedRequest {
        let job = JobId(uuid::Uuid::nil());
        CommittedRequest {
            place: IntakePlace { transaction, number },
            job,
            receipt: job,
            requested_by: "app".to_owned(),
            requested_at: Timestamp(0),
            kind: RequestKind::Cancel { hard: false, reason: None },
        }
    }

    fn snapshot(end: i64, running: &[i64]) -> Snapshot {
        Snapshot { end, running: running.to_vec() }
    }

    #[test]
    fn snapshots_are_read_with_and_without_running_transactions() {
        assert_eq!(Snapshot::parse("10:20:10,14"), Some(snapshot(20, &[10, 14])));
        assert_eq!(Snapshot::parse("10:10:"), Some(snapshot(10, &[])));
        assert_eq!(Snapshot::parse("10"), None);
    }

    #[test]
    fn a_look_over_several_pages_settles_its_first_snapshot() {
        let full: Vec<_> = (0..INTAKE_ROWS_MAX as i64).map(|number| request(5, number)).collect();
        let first = IntakeCursor::default().advance(snapshot(10, &[3]), &full);
        assert_eq!(first.settled, Snapshot::default());
        assert_eq!(first.after(), full.last().unwrap().place);
        let second = first.advance(snapshot(30, &[]), &[request(6, 900)]);
        assert_eq!(second, IntakeCursor { settled: snapshot(10, &[3]), look: None });
    }

    #[test]
    fn a_look_ends_where_its_first_snapshot_ends_however_many_requests_follow() {
        let full: Vec<_> = (0..INTAKE_ROWS_MAX as i64).map(|number| request(12, number)).collect();
        let cursor = IntakeCursor::default().advance(snapshot(10, &[3]), &full);
        assert_eq!(cursor, IntakeCursor { settled: snapshot(10, &[3]), look: None });
    }
}
