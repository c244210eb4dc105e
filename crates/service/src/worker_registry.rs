//! The workers: who was heard, when, and with which credential. Kept in memory, and told to the store every other
//! second, so that every node can say who is there.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tenure_core::command::{Command, CommandEnvelope};
use tenure_core::id::{Actor, Name, WorkerId};
use tenure_core::time::Timestamp;

/// Workers that this node has heard.
#[derive(Debug, Default)]
pub struct WorkerRegistry(Mutex<HashMap<Name, Heard>>);

#[derive(Clone, Debug)]
struct Heard {
    at: Timestamp,
    credential: Name,
    is_told: bool,
}

impl WorkerRegistry {
    fn heard(&self) -> MutexGuard<'_, HashMap<Name, Heard>> {
        self.0.lock().expect("nobody panics while noting a worker")
    }

    /// Notes that a worker was heard, if it is known with this credential; says whether it is.
    pub fn touch(&self, worker: &WorkerId, credential: &Name, at: Timestamp) -> bool {
        let mut heard = self.heard();
        let known = heard.get_mut(worker).filter(|known| known.credential == *credential);
        known.map(|known| (known.at, known.is_told) = (at, false)).is_some()
    }

    /// Takes up a worker that is new here, or comes with another credential than before.
    pub fn register(&self, worker: &WorkerId, credential: &Name, at: Timestamp) {
        let heard = Heard { at, credential: credential.clone(), is_told: false };
        self.heard().insert(worker.clone(), heard);
    }

    /// Everyone whom this node has heard, and when.
    pub fn all(&self) -> Vec<(Name, Timestamp)> {
        self.heard().iter().map(|(worker, known)| (worker.clone(), known.at)).collect()
    }

    /// What the store has not been told yet, as a command; forgets who was silent for a day.
    pub fn take_updates(&self, now: Timestamp) -> Option<CommandEnvelope> {
        const SILENCE_MS: i64 = 24 * 3_600_000;
        let mut heard = self.heard();
        heard.retain(|_, known| now.0 - known.at.0 < SILENCE_MS);
        let news: Vec<_> = heard
            .iter_mut()
            .filter(|(_, known)| !known.is_told)
            .map(|(worker, known)| {
                known.is_told = true;
                (worker.clone(), Some(known.credential.clone()))
            })
            .collect();
        (!news.is_empty()).then(|| workers_seen(news))
    }
}

/// The command that tells the store who was heard.
pub fn workers_seen(workers: Vec<(Name, Option<Name>)>) -> CommandEnvelope {
    CommandEnvelope { by: Actor::from("server"), key: None, command: Command::WorkersSeen(workers) }
}
