//! The list of workers, each with its presence, the last time that a node saw it, its jobs, and its own description.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use tenure_core::id::{Fence, TypeName};

use crate::prelude::*;
use crate::worker_registry::{Claiming, SeenWorker};

/// How long a worker may be silent besides the wait of its claim.
const GRACE: Millis = Millis(60_000);
/// The wait of a worker that claims at another node: the longest one.
const WAIT_UNKNOWN: Millis = Millis(300_000);

/// Leased jobs that were read for a page are shown again for this many times the duration of reading them...
const AGE_COSTS: u32 = 100;
/// ... if it is longer than this.
const QUICK: Duration = Duration::from_millis(10);
/// The longest time.
const AGE_MAX: Duration = Duration::from_mins(1);

/// All leased jobs, as they were last read for a page.
#[derive(Default)]
pub(crate) struct LeasedJobs(Mutex<Option<ReadLeases>>);

/// Leased jobs, each with its worker.
type Leases = Arc<Vec<(WorkerId, HeldLease)>>;

struct ReadLeases {
    leases: Leases,
    at: Instant,
    took: Duration,
}

impl LeasedJobs {
    async fn recent(&self, service: &Service) -> Result<Leases> {
        let mut last = self.0.lock().await;
        if let Some(last) = last.as_ref().filter(|last| last.at.elapsed() < age_max(last.took)) {
            return Ok(Arc::clone(&last.leases));
        }
        let began = Instant::now();
        let leases = Arc::new(leased(service).await?);
        *last = Some(ReadLeases { leases: Arc::clone(&leases), at: Instant::now(), took: began.elapsed() });
        Ok(leases)
    }
}

/// How old leased jobs on a page may be, by how long reading them took.
fn age_max(took: Duration) -> Duration {
    if took < QUICK { Duration::ZERO } else { (took * AGE_COSTS).min(AGE_MAX) }
}

pub struct Worker {
    pub name: WorkerId,
    /// `None` for a worker that holds a job and was never seen here.
    pub seen_at: Option<Timestamp>,
    pub holds: Vec<HeldLease>,
    /// What it said with its last claim at this node.
    pub claiming: Option<Arc<Claiming>>,
    pub presence: Presence,
}

/// What the list has of a leased job, which may have a large payload.
#[derive(Clone)]
pub struct HeldLease {
    pub job: JobId,
    pub job_type: TypeName,
    pub state: StateName,
    pub fence: Fence,
    pub ttl: Millis,
}

impl HeldLease {
    /// With the worker; `None` if the job has no lease.
    fn of(job: &Job) -> Option<(WorkerId, Self)> {
        let lease = job.lease.as_deref()?;
        let held = Self {
            job: job.id(),
            job_type: job.spec.job_type.clone(),
            state: job.state.clone(),
            fence: lease.fence,
            ttl: lease.ttl,
        };
        Some((lease.worker.clone(), held))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It was seen within the time in which it must say something.
    Online,
    /// It is silent and holds jobs.
    Lost,
    /// It is silent and holds nothing.
    Offline,
}

impl Presence {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Lost => "lost",
            Self::Offline => "offline",
        }
    }
}

impl Worker {
    fn new(name: WorkerId) -> Self {
        Self { name, seen_at: None, holds: Vec::new(), claiming: None, presence: Presence::Online }
    }

    fn presence(&self, now: Timestamp) -> Presence {
        let Some(seen_at) = self.seen_at else { return Presence::Online };
        let wait = self.claiming.as_ref().map(|claiming| claiming.wait);
        Presence::of(now - seen_at, wait, self.holds.iter().map(|held| held.ttl).max())
    }
}

impl Presence {
    /// By the silence of a worker, the wait of its claim, if known, and its longest lease, if it has one. A worker renews a
    /// lease before half of its time has passed.
    fn of(silence: Millis, wait: Option<Millis>, lease: Option<Millis>) -> Self {
        let renewal = lease.map_or(0, |ttl| ttl.0 / 2);
        let expected = wait.unwrap_or(WAIT_UNKNOWN).0.max(renewal);
        match lease {
            _ if silence.0 <= expected + GRACE.0 => Self::Online,
            None => Self::Offline,
            Some(_) => Self::Lost,
        }
    }
}

/// All workers, the last seen first.
pub async fn list(service: &Service) -> Result<Vec<Worker>> {
    let leases = leased(service).await?;
    with_leases(service, &leases).await
}

/// The same for a page that is rendered again and again: leased jobs are read in a hundredth of the time.
pub async fn list_recent(service: &Service) -> Result<Vec<Worker>> {
    let leases = service.leased_jobs().recent(service).await?;
    with_leases(service, &leases).await
}

async fn leased(service: &Service) -> Result<Vec<(WorkerId, HeldLease)>> {
    let (mut leases, mut pages) = (Vec::new(), LeasePages::all(service.store()));
    while let Some(page) = pages.next().await? {
        leases.extend(page.iter().filter_map(|job| HeldLease::of(job)));
    }
    Ok(leases)
}

async fn with_leases(service: &Service, leases: &[(WorkerId, HeldLease)]) -> Result<Vec<Worker>> {
    let mut workers: BTreeMap<WorkerId, Worker> = BTreeMap::new();
    let new = |name: WorkerId| move || Worker::new(name);
    for (name, held) in leases {
        workers.entry(name.clone()).or_insert_with(new(name.clone())).holds.push(held.clone());
    }
    let stored = service.store().workers().await?.into_iter();
    let stored = stored.map(|it| SeenWorker { name: it.name, seen_at: it.seen_at, claiming: None });
    for SeenWorker { name, seen_at, claiming } in stored.chain(service.worker_registry().all()) {
        let worker = workers.entry(name.clone()).or_insert_with(new(name));
        worker.seen_at = worker.seen_at.max(Some(seen_at));
        worker.claiming = claiming.or(worker.claiming.take());
    }
    let now = service.runtime().now();
    let mut workers: Vec<Worker> = workers.into_values().collect();
    for worker in &mut workers {
        worker.presence = worker.presence(now);
    }
    workers.sort_by(|one, other| other.seen_at.cmp(&one.seen_at).then_with(|| one.name.cmp(&other.name)));
    Ok(workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_that_are_quickly_read_are_read_for_each_page() {
        let of = |ms| age_max(Duration::from_millis(ms)).as_millis();
        assert_eq!([9, 10, 200, 5000].map(of), [0, 1000, 20_000, 60_000]);
    }

    #[test]
    fn a_silent_worker_is_lost_if_it_holds_jobs() {
        let of = |silence, wait: Option<u64>, lease: Option<u64>| {
            Presence::of(Millis(silence), wait.map(Millis), lease.map(Millis))
        };
        assert_eq!(of(80_000, Some(20_000), None), Presence::Online);
        assert_eq!(of(80_001, Some(20_000), None), Presence::Offline);
        assert_eq!(of(80_001, Some(20_000), Some(30_000)), Presence::Lost);
        assert_eq!(of(80_001, Some(20_000), Some(600_000)), Presence::Online, "its lease is long");
        assert_eq!(of(360_000, None, None), Presence::Online, "its claim may wait at another node");
        assert_eq!(of(360_001, None, None), Presence::Offline);
    }
}
