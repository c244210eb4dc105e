//! The trace of a run: every request, reply, event and fault with its virtual time, and a hash of all of them by which two
//! runs of one seed are compared.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::prelude::*;

#[derive(Debug)]
pub(crate) struct Trace {
    start: Instant,
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    lines: Vec<Line>,
    labels: BTreeMap<JobId, usize>,
    hash: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Virtual milliseconds since the start.
    pub(crate) at_ms: u64,
    /// `None` for lines about the cluster.
    pub(crate) job: Option<JobId>,
    pub(crate) text: String,
}

impl Trace {
    pub(crate) fn new() -> Self {
        let inner = Inner { hash: FNV_START, ..Inner::default() };
        Self { start: Instant::now(), inner: RefCell::new(inner) }
    }

    /// Virtual milliseconds since the start.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    pub(crate) fn record(&self, job: Option<JobId>, text: impl Into<String>) {
        let (at_ms, text) = (self.elapsed_ms(), text.into());
        let mut inner = self.inner.borrow_mut();
        let id = job.map_or(0, JobId::seed);
        inner.hash = fnv(inner.hash, &at_ms.to_be_bytes());
        inner.hash = fnv(inner.hash, &id.to_be_bytes());
        inner.hash = fnv(inner.hash, text.as_bytes());
        inner.lines.push(Line { at_ms, job, text });
    }

    /// The job's number in the trace, easier to follow than its id.
    pub(crate) fn label(&self, job: JobId) -> usize {
        let mut inner = self.inner.borrow_mut();
        let next = inner.labels.len() + 1;
        *inner.labels.entry(job).or_insert(next)
    }

    pub(crate) fn hash(&self) -> u64 {
        self.inner.borrow().hash
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.inner.borrow().lines.clone()
    }
}

/// The FNV-1a hash of no bytes.
pub(crate) const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues an FNV-1a hash with these bytes.
pub(crate) fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
