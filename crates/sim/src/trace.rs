//! The trace of a run: every request, reply, event and fault with its virtual time, and a hash of all of them by which two
//! runs of one seed are compared.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tenure_core::id::JobId;
use tokio::time::Instant;

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
        let inner = Inner { hash: 0xcbf2_9ce4_8422_2325, ..Inner::default() };
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
        inner.mix(&at_ms.to_be_bytes());
        inner.mix(&id.to_be_bytes());
        inner.mix(text.as_bytes());
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

impl Inner {
    /// FNV-1a.
    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
