//! Registry of the workers that this node has seen: when, and with which credential. Kept in memory and written to the
//! store every two seconds, so that every node can list all workers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tenure_core::command::WorkerSighting;
use tenure_core::id::TypeName;
use tenure_core::limits::{WORKER_NAMES_MAX, WORKER_UNSEEN_MS_MAX};

use crate::prelude::*;

/// A worker that is silent for this long is dropped.
const FORGET_AFTER_MS: i64 = WORKER_UNSEEN_MS_MAX as i64;
/// When a caller with too many names may try again.
const ROOM_AFTER_SECONDS: u64 = 60;

#[derive(Debug, Default)]
pub struct WorkerRegistry(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    workers: HashMap<WorkerKey, Entry>,
    /// How many of them each credential has.
    counts: HashMap<Name, usize>,
}

/// A worker's name and its credential: two credentials may use the same name.
type WorkerKey = (WorkerId, Name);

#[derive(Clone, Debug)]
struct Entry {
    seen_at: Timestamp,
    is_written: bool,
    claiming: Option<Arc<Claiming>>,
}

/// What a worker said with its last claim at this node. Not stored: workers repeat it with each claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claiming {
    /// The types that it claims; `None` is any.
    pub types: Option<Vec<TypeName>>,
    /// How long its claim waits: so long it may be silent.
    pub wait: Millis,
    pub about: AboutWorker,
}

/// What a worker says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AboutWorker {
    /// Jobs that it runs at once.
    pub slots: Option<u32>,
    pub host: Option<String>,
    pub version: Option<String>,
}

/// Bytes of a host or a version.
const VALUE_BYTES_MAX: usize = 128;

impl AboutWorker {
    /// Reads `slots=8; host="gpu-1"; version="1.2.0"`. What is not known or not of this form is ignored.
    pub fn parse(text: &str) -> Self {
        let mut about = Self::default();
        for (name, value) in text.split(';').filter_map(|pair| pair.split_once('=')) {
            let value = value.trim().trim_matches('"');
            let is_text = (1..=VALUE_BYTES_MAX).contains(&value.len()) && !value.contains(char::is_control);
            let text = || is_text.then(|| value.to_owned());
            match name.trim() {
                "slots" => about.slots = value.parse().ok(),
                "host" => about.host = text(),
                "version" => about.version = text(),
                _ => {}
            }
        }
        about
    }
}

/// A worker in the registry.
#[derive(Clone, Debug)]
pub struct SeenWorker {
    pub name: WorkerId,
    pub seen_at: Timestamp,
    pub claiming: Option<Arc<Claiming>>,
}

impl WorkerRegistry {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().expect("no panic while the registry is locked")
    }

    /// Updates a worker that is registered with this credential. Returns false if it is not.
    pub fn touch(&self, worker: &WorkerId, credential: &Name, now: Timestamp) -> bool {
        let mut entries = self.entries();
        let known = entries.workers.get_mut(&(worker.clone(), credential.clone()));
        known.map(|entry| (entry.seen_at, entry.is_written) = (now, false)).is_some()
    }

    /// Refuses another name of a credential that has too many. Names are dropped a day after their last use.
    pub fn check_room(&self, credential: &Name) -> Result<()> {
        let count = self.entries().counts.get(credential).copied().unwrap_or_default();
        if count < WORKER_NAMES_MAX {
            return Ok(());
        }
        let detail =
            format!("a credential has at most {WORKER_NAMES_MAX} names of workers in a day; use fewer");
        Err(Problem::new(ProblemCode::RateLimited, detail).retry_after(ROOM_AFTER_SECONDS))
    }

    /// Adds a worker.
    pub fn register(&self, worker: &WorkerId, credential: &Name, now: Timestamp) {
        let entry = Entry { seen_at: now, is_written: false, claiming: None };
        let mut entries = self.entries();
        if entries.workers.insert((worker.clone(), credential.clone()), entry).is_none() {
            *entries.counts.entry(credential.clone()).or_default() += 1;
        }
    }

    /// Keeps what a registered worker says with a claim.
    pub fn claims(&self, worker: &WorkerId, credential: &Name, claiming: Claiming) {
        if let Some(entry) = self.entries().workers.get_mut(&(worker.clone(), credential.clone()))
            && entry.claiming.as_deref() != Some(&claiming)
        {
            entry.claiming = Some(Arc::new(claiming));
        }
    }

    pub fn all(&self) -> Vec<SeenWorker> {
        let seen = |((name, _), entry): (&WorkerKey, &Entry)| SeenWorker {
            name: name.clone(),
            seen_at: entry.seen_at,
            claiming: entry.claiming.clone(),
        };
        self.entries().workers.iter().map(seen).collect()
    }

    /// The sightings that are not in the store yet, as a command.
    pub fn take_updates(&self, now: Timestamp) -> Option<CommandEnvelope> {
        let mut entries = self.entries();
        let Entries { workers, counts } = &mut *entries;
        workers.retain(|(_, credential), entry| {
            let is_kept = now.0 - entry.seen_at.0 < FORGET_AFTER_MS;
            if let Some(count) = counts.get_mut(credential).filter(|_| !is_kept) {
                *count -= 1;
            }
            is_kept
        });
        counts.retain(|_, count| *count > 0);
        let new = workers.iter_mut().filter(|(_, entry)| !entry.is_written);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_has_a_limited_number_of_names() {
        let (registry, key) = (WorkerRegistry::default(), Name::from("key:k"));
        let register = |n: usize, at: i64| {
            registry.register(&format!("w{n}").into(), &key, Timestamp(at));
        };
        for n in 0..WORKER_NAMES_MAX {
            registry.check_room(&key).unwrap();
            register(n, 0);
        }
        assert_eq!(registry.check_room(&key).unwrap_err().code(), "rate_limited");
        assert!(registry.touch(&"w0".into(), &key, Timestamp(1)), "known names are still used");
        registry.check_room(&"key:other".into()).unwrap();
        registry.take_updates(Timestamp(FORGET_AFTER_MS));
        register(0, FORGET_AFTER_MS);
        assert_eq!(registry.entries().counts, HashMap::from([(key, 1)]), "the others were dropped");
    }

    #[test]
    fn what_a_worker_says_is_read_and_the_rest_ignored() {
        let about =
            AboutWorker::parse("slots=8; host=\"gpu-1\"; colour=red; version=\"tenure-client/0.1.0\"");
        let expected = AboutWorker {
            slots: Some(8),
            host: Some("gpu-1".to_owned()),
            version: Some("tenure-client/0.1.0".to_owned()),
        };
        assert_eq!(about, expected);
        for nothing in [
            "",
            "slots",
            "slots=-1",
            "host=\"\"",
            "host=\"a\u{7}\"",
            ";;=;",
            &format!("host={}", "x".repeat(129)),
        ] {
            assert_eq!(AboutWorker::parse(nothing), AboutWorker::default(), "{nothing}");
        }
    }
}
