//! Registry of the workers that this node has seen: when, and with which credential. Kept in memory and written to the
//! store every two seconds, so that every node can list all workers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tenure_core::command::WorkerSighting;

use crate::prelude::*;

/// A worker that is silent for this long is dropped.
const FORGET_AFTER_MS: i64 = 24 * 3_600_000;

#[derive(Debug, Default)]
pub struct WorkerRegistry(Mutex<HashMap<WorkerKey, Entry>>);

/// A worker's name and its credential: two credentials may use the same name.
type WorkerKey = (WorkerId, Name);

#[derive(Clone, Debug)]
struct Entry {
    seen_at: Timestamp,
    is_written: bool,
}

impl WorkerRegistry {
    fn entries(&self) -> MutexGuard<'_, HashMap<WorkerKey, Entry>> {
        self.0.lock().expect("no panic while the registry is locked")
    }

    /// Updates a worker that is registered with this credential. Returns false if it is not.
    pub fn touch(&self, worker: &WorkerId, credential: &Name, now: Timestamp) -> bool {
        let mut entries = self.entries();
        let known = entries.get_mut(&(worker.clone(), credential.clone()));
        known.map(|entry| (entry.seen_at, entry.is_written) = (now, false)).is_some()
    }

    pub fn register(&self, worker: &WorkerId, credential: &Name, now: Timestamp) {
        let entry = Entry { seen_at: now, is_written: false };
        self.entries().insert((worker.clone(), credential.clone()), entry);
    }

    pub fn all(&self) -> Vec<(WorkerId, Timestamp)> {
        self.entries().iter().map(|((worker, _), entry)| (worker.clone(), entry.seen_at)).collect()
    }

    /// The sightings that are not in the store yet, as a command.
    pub fn take_updates(&self, now: Timestamp) -> Option<CommandEnvelope> {
        let mut entries = self.entries();
        entries.retain(|_, entry| now.0 - entry.seen_at.0 < FORGET_AFTER_MS);
        let new = entries.iter_mut().filter(|(_, entry)| !entry.is_written);
        let updates: Vec<_> = new
            .map(|((worker, credential), entry)| {
                entry.is_written = true;
                WorkerSighting { worker: worker.clone(), credential: Some(credential.clone()) }
            })
            .collect();
        (!updates.is_empty()).then(|| workers_seen(updates))
    }
}

pub(crate) fn workers_seen(workers: Vec<WorkerSighting>) -> CommandEnvelope {
    CommandEnvelope { by: "server".into(), key: None, command: Command::WorkersSeen(workers) }
}
