//! A cache of specs, which never change: a worker's `start`, heartbeats and report then load only the state of the job.
//! Bounded by bytes; the older half is evicted at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::prelude::*;

/// Capacity of each half: payloads plus an estimate for the rest.
const HALF_BYTES_MAX: usize = 32 << 20;
/// Estimated size of a spec without its payload.
const SPEC_BYTES: usize = 400;

/// Recently used specs.
#[derive(Debug, Default)]
pub(super) struct Specs(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    young: HashMap<JobId, Arc<Spec>>,
    old: HashMap<JobId, Arc<Spec>>,
    young_bytes: usize,
}

impl Specs {
    pub(super) fn get(&self, id: JobId) -> Option<Arc<Spec>> {
        let halves = self.halves();
        halves.young.get(&id).or_else(|| halves.old.get(&id)).cloned()
    }

    pub(super) fn put(&self, spec: &Arc<Spec>) {
        let mut halves = self.halves();
        if halves.young.insert(spec.id, Arc::clone(spec)).is_none() {
            halves.young_bytes += SPEC_BYTES + spec.payload.as_str().len();
        }
        if halves.young_bytes > HALF_BYTES_MAX {
            halves.old = std::mem::take(&mut halves.young);
            halves.young_bytes = 0;
        }
    }

    pub(super) fn forget(&self, id: JobId) {
        let mut halves = self.halves();
        halves.old.remove(&id);
        if let Some(spec) = halves.young.remove(&id) {
            halves.young_bytes -= SPEC_BYTES + spec.payload.as_str().len();
        }
    }

    fn halves(&self) -> MutexGuard<'_, Halves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
