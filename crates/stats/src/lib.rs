//! Statistics for the dashboard and `/api/stats`, at a cost that does not grow with the store. Commits are counted as
//! they happen (`counters`); everything else is read from the store and cached in proportion to what reading costs
//! (`cached_read`, `read`). Requests within half a second share one snapshot, and nothing is read without a request.

mod assemble;
mod attention;
mod cached_read;
mod clock_steps;
mod counters;
mod errors;
mod history;
mod marks;
mod minute_reports;
mod minute_ring;
mod node_reports;
mod prelude;
mod queue_trends;
mod queues;
mod read;
pub mod snapshot;
mod span_histogram;

use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tenure_core::attention::AttentionThresholds;
use tokio::time::Instant;

pub use counters::Counters;
pub use history::{History, HistoryPeriod, TimeRange};
pub use marks::Mark;
pub use minute_reports::span_percentiles;
pub use node_reports::ThisNode;
pub use queues::{phase_of, queues};

use assemble::{SnapshotInputs, counts};
use attention::{Judged, judge};
use cached_read::{CachedRead, Read};
use clock_steps::ClockSteps;
use history::HistoryCache;
use minute_reports::MinuteReports;
use node_reports::{Awaited, NodeReports};
use read::{FinishedCounts, Held, Live, Peers, Sample};
use snapshot::{CountNow, Snapshot, StoreNow};

use crate::prelude::*;

/// A snapshot younger than this is returned again.
const SNAPSHOT_AGE_MAX: Duration = Duration::from_millis(500);

/// Cached reads, this node's counters, and the last snapshot made of them.
pub struct Stats {
    runtime: Runtime,
    counters: Arc<Counters>,
    this_node: ThisNode,
    live: Arc<CachedRead<Live>>,
    held: Arc<CachedRead<Held>>,
    finished: Arc<CachedRead<FinishedCounts>>,
    sample: Arc<CachedRead<Sample>>,
    peers: Arc<CachedRead<Peers>>,
    node_reports: Arc<Mutex<NodeReports>>,
    clock_steps: Arc<Mutex<ClockSteps>>,
    last: Mutex<Option<LastSnapshot>>,
    thresholds: RwLock<AttentionThresholds>,
    minute_reports: tokio::sync::Mutex<MinuteReports>,
    histories: Mutex<HistoryCache>,
    /// The first hour of which there are statistics, once it is known.
    since: Mutex<Option<Timestamp>>,
    marks: Arc<CachedRead<Vec<Mark>>>,
}

struct LastSnapshot {
    parts: Parts,
    at: Instant,
    snapshot: Arc<Snapshot>,
}

/// What one snapshot is made of.
#[derive(Clone)]
struct Parts {
    live: Arc<Live>,
    held: Arc<Held>,
    finished: Arc<FinishedCounts>,
    sample: Arc<Sample>,
    peers: Arc<Peers>,
}

impl Parts {
    fn same_reads(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.live, &other.live)
            && Arc::ptr_eq(&self.held, &other.held)
            && Arc::ptr_eq(&self.finished, &other.finished)
            && Arc::ptr_eq(&self.sample, &other.sample)
            && Arc::ptr_eq(&self.peers, &other.peers)
    }
}

impl Stats {
    pub fn new(runtime: Runtime, counters: Arc<Counters>, this_node: ThisNode) -> Self {
        Self {
            runtime,
            counters,
            this_node,
            live: Arc::default(),
            held: Arc::default(),
            finished: Arc::default(),
            sample: Arc::default(),
            peers: Arc::default(),
            node_reports: Arc::default(),
            clock_steps: Arc::default(),
            last: Mutex::new(None),
            thresholds: RwLock::default(),
            minute_reports: tokio::sync::Mutex::default(),
            histories: Mutex::default(),
            since: Mutex::default(),
            marks: Arc::default(),
        }
    }

    /// Counts the types of a changed catalog separately from now on.
    pub fn add_types(&self, catalog: &Catalog) {
        self.counters.add_types(catalog);
    }

    /// Applies the thresholds of a configuration from the next snapshot on.
    pub fn set_thresholds(&self, thresholds: AttentionThresholds) {
        *self.thresholds.write().expect("no panic while thresholds are set") = thresholds;
    }

    /// A snapshot at most half a second old, or, where reading is slow, at most 100 × the duration of the last read.
    /// Never waits for a read that took over 10 ms the last time.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>, StoreError> {
        let runtime = || self.runtime.clone();
        let unknown = || FinishedCounts::unknown(self.counters.finished());
        let (live, held, finished, sample, peers) = tokio::try_join!(
            self.live.get(|| read::live(runtime())),
            self.held.get(|| read::held(runtime())),
            self.finished.get_or(|| self.count_finished(), unknown),
            self.sample.get(|| read::sample(runtime())),
            self.read_peers(),
        )?;
        Ok(self.reuse_or_assemble(Parts { live, held, finished, sample, peers }))
    }

    /// Whether a claim that waits on any live node accepts a job of this queue and type.
    pub async fn is_awaited(&self, queue: &QueueName, job_type: &TypeName) -> Result<bool, StoreError> {
        if self.runtime.is_awaited(queue, job_type) {
            return Ok(true);
        }
        let peers = self.read_peers().await?;
        Ok(Awaited::count(&peers.others.awaited, queue, job_type) > 0)
    }

    async fn read_peers(&self) -> Result<Arc<Peers>, StoreError> {
        let (reports, clock) = (Arc::clone(&self.node_reports), Arc::clone(&self.clock_steps));
        let read = || read::peers(self.runtime.clone(), self.this_node.id.clone(), reports, clock);
        self.peers.get(read).await
    }

    fn count_finished(&self) -> impl Read<FinishedCounts> + use<> {
        read::finished(self.runtime.clone(), Arc::clone(&self.counters))
    }

    /// Jobs by lifecycle, type, queue and state. Finished jobs are counted again if that is quick.
    pub async fn counts(&self, live: &[Count]) -> Result<Vec<CountNow>, StoreError> {
        if self.finished.is_quick() {
            self.finished.expire();
        }
        let finished = self.finished.get(|| self.count_finished()).await?;
        Ok(counts(live, &finished, &self.counters.finished()))
    }

    /// Resolves when no read is in progress.
    pub async fn idle(&self) {
        self.live.idle().await;
        self.held.idle().await;
        self.finished.idle().await;
        self.sample.idle().await;
        self.peers.idle().await;
        self.marks.idle().await;
    }

    fn reuse_or_assemble(&self, parts: Parts) -> Arc<Snapshot> {
        let mut last = self.last.lock().expect("no panic while a snapshot is made");
        let is_current =
            |last: &&LastSnapshot| last.parts.same_reads(&parts) && last.at.elapsed() < SNAPSHOT_AGE_MAX;
        if let Some(last) = last.as_ref().filter(is_current) {
            return Arc::clone(&last.snapshot);
        }
        let snapshot = Arc::new(self.assemble(&parts));
        *last = Some(LastSnapshot { parts, at: Instant::now(), snapshot: Arc::clone(&snapshot) });
        snapshot
    }

    fn assemble(&self, parts: &Parts) -> Snapshot {
        let catalog = self.runtime.catalog();
        let Parts { live, held, finished, sample, peers } = parts;
        let mut counted = self.counters.by_minute();
        counted.merge(&peers.others.counted);
        let now = self.runtime.now().max(live.now);
        let inputs = SnapshotInputs { catalog: &catalog, now, live, held, sample, counted: &counted };
        let mut awaited = Awaited::on_this_node(&self.runtime);
        awaited.extend(peers.others.awaited.iter().cloned());
        let idle = |queue: &QueueName, job_type: &TypeName| Awaited::count(&awaited, queue, job_type);
        let counts = counts(&live.gauges.jobs, finished, &self.counters.finished());
        let (lifecycles, queues) = (inputs.lifecycles(&counts), inputs.queues());
        let pause = |queue: &snapshot::QueueNow| peers.pauses.get(&queue.name).filter(|_| queue.paused);
        let queue_trends: Vec<_> =
            queues.iter().map(|queue| inputs.queue_trend(queue, pause(queue).cloned())).collect();
        let mut nodes = vec![self.this_node_now(live.now)];
        nodes.extend(peers.others.nodes.iter().cloned());
        let (types, failures, store) = (inputs.types(idle), inputs.failures(), self.store());
        let thresholds = *self.thresholds.read().expect("no panic while thresholds are set");
        let judged = Judged {
            inputs: &inputs,
            thresholds: &thresholds,
            lifecycles: &lifecycles,
            types: &types,
            failures: &failures,
            queues: &queues,
            trends: &queue_trends,
            nodes: &nodes,
            peers,
            store: &store,
        };
        Snapshot {
            at: live.now,
            attention: judge(&judged, idle),
            minutes: inputs.all_minutes(),
            errors: inputs.errors(),
            type_errors: inputs.type_errors(),
            wait: inputs.wait(),
            recent: sample.recent.clone(),
            finished_known: finished.known,
            types,
            failures,
            store,
            lifecycles,
            queues,
            queue_trends,
            nodes,
            counts,
        }
    }

    fn store(&self) -> StoreNow {
        let commits = self.counters.commits();
        StoreNow {
            kind: self.runtime.store().properties().kind.as_str(),
            commands_per_commit: commits.commands.percentiles(),
            commit_us: commits.took_us.percentiles(),
            queued_commands: self.runtime.queued_commands(),
        }
    }
}
