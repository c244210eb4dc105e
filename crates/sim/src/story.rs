//! What happened in a run, line by line, as it is told when a seed fails; and a hash of all of it, by which two runs of
//! one seed are compared.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tenure_core::id::JobId;
use tokio::time::Instant;

/// A run so far. Lines are kept for all jobs; only those of the offender are told.
#[derive(Debug)]
pub(crate) struct Story {
    began: Instant,
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    lines: Vec<Line>,
    labels: BTreeMap<JobId, usize>,
    hash: u64,
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Virtual milliseconds since the beginning.
    pub(crate) at_ms: u64,
    /// About which job; `None` for the world.
    pub(crate) job: Option<JobId>,
    /// In words.
    pub(crate) text: String,
}

impl Story {
    /// An empty story that begins now.
    pub(crate) fn new() -> Self {
        let inner = Inner { hash: 0xcbf2_9ce4_8422_2325, ..Inner::default() };
        Self { began: Instant::now(), inner: RefCell::new(inner) }
    }

    /// Virtual milliseconds since the beginning.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Tells one more thing.
    pub(crate) fn tell(&self, job: Option<JobId>, text: String) {
        let at_ms = self.elapsed_ms();
        let mut inner = self.inner.borrow_mut();
        let id = job.map_or(0, JobId::seed);
        inner.mix(&at_ms.to_be_bytes());
        inner.mix(&id.to_be_bytes());
        inner.mix(text.as_bytes());
        inner.lines.push(Line { at_ms, job, text });
    }

    /// What the job is called in the story: numbers are easier to follow than ids.
    pub(crate) fn label(&self, job: JobId) -> usize {
        let mut inner = self.inner.borrow_mut();
        let next = inner.labels.len() + 1;
        *inner.labels.entry(job).or_insert(next)
    }

    /// The hash of everything that was told.
    pub(crate) fn hash(&self) -> u64 {
        self.inner.borrow().hash
    }

    /// Everything that was told.
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
