//! The runtime without HTTP on each kind of store, with many waiting or finished jobs, next to the limit of a bare log file.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use tenure_store::{MemoryStore, Store};

use super::database::{Counted, Database};
use super::embedded::Embedded;
use super::machine::CpuTime;
use super::{Throughput, disk, machine};
use crate::args::{BenchArgs, StoreKind};
use crate::output;

/// The payload and the four events of one lifecycle, as JSON.
pub(super) const LIFECYCLE_BYTES: usize = 1_722;
const CALLERS: [usize; 4] = [1, 16, 128, 1024];

/// Lifecycles per second of one store with a number of waiting jobs and callers, what each costs, and the rate of a log file.
#[derive(Serialize)]
pub(super) struct StoreRate {
    pub(super) store: StoreKind,
    pub(super) waiting: usize,
    pub(super) finished: usize,
    /// Whether another transaction held a snapshot.
    pub(super) pinned: bool,
    pub(super) callers: usize,
    pub(super) per_second: f64,
    #[serde(flatten)]
    pub(super) cost: LifecycleCost,
    pub(super) limit_per_second: f64,
}

/// What one lifecycle costs.
#[derive(Serialize)]
pub(super) struct LifecycleCost {
    /// CPU time of this process, the callers included.
    pub(super) cpu_us: f64,
    pub(super) database_cpu_us: Option<f64>,
    /// To files, or to the write-ahead log of the database.
    pub(super) written_bytes: f64,
    /// Rows of the database that were updated or deleted.
    pub(super) dead_rows: Option<f64>,
}

/// How long it took to open a store in a new process and to verify it, and the memory of that process.
#[derive(Serialize)]
pub(super) struct Opening {
    pub(super) store: StoreKind,
    pub(super) waiting: usize,
    #[serde(flatten)]
    pub(super) opened: Opened,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Opened {
    pub(super) open_ms: u64,
    pub(super) resident_bytes: u64,
    pub(super) verified_jobs: u64,
    pub(super) verify_ms: u64,
    /// The most that was resident until the end of the verification.
    pub(super) peak_bytes: u64,
}

#[derive(Default, Serialize)]
pub(super) struct Comparison {
    lifecycle_bytes: usize,
    pub(super) stores: Vec<StoreRate>,
    pub(super) openings: Vec<Opening>,
}

/// A store, and where it is.
struct Place<'a> {
    kind: StoreKind,
    folder: &'a Path,
    database: Option<Database>,
}

/// What a store and its process have used so far.
struct Usage {
    cpu: CpuTime,
    written: u64,
    counted: Option<Counted>,
}

pub(super) async fn measure(bench: &BenchArgs, folder: &Path) -> Result<Comparison> {
    let callers = if bench.callers.is_empty() { &CALLERS[..] } else { &bench.callers };
    let span = Duration::from_secs(bench.seconds);
    let mut comparison = Comparison { lifecycle_bytes: LIFECYCLE_BYTES, ..Comparison::default() };
    for (store, waiting, pinned) in runs(bench) {
        let data = folder.join(format!("{store:?}-{waiting}"));
        let place = Place::new(store, &data, bench.database_url.as_deref())?;
        let embedded = Embedded::on(place.open().await?).await?;
        embedded.fill_finished(bench.finished).await?;
        embedded.fill_waiting(waiting).await?;
        let database = place.database.as_ref().filter(|_| pinned);
        let snapshot = database.map(Database::pin_snapshot).transpose()?;
        for &callers in callers {
            output::message(&format!("measuring {store:?}, {waiting} waiting, {callers} callers"));
            let before = place.usage()?;
            let throughput = embedded.drive(callers, 1, span).await?;
            let cost = place.usage()?.since(&before, &throughput);
            let limit = disk::group_commits(folder, callers, span).await?;
            comparison.stores.push(StoreRate {
                store,
                waiting,
                finished: bench.finished,
                pinned,
                callers,
                per_second: throughput.per_second(),
                cost,
                limit_per_second: limit.per_second(),
            });
        }
        embedded.close().await;
        drop(snapshot);
        if !pinned && store != StoreKind::Memory {
            comparison.openings.push(Opening { store, waiting, opened: place.open_again()? });
        }
    }
    Ok(comparison)
}

/// Each store with each number of waiting jobs; PostgreSQL also with a snapshot, if that was asked for.
fn runs(bench: &BenchArgs) -> Vec<(StoreKind, usize, bool)> {
    let mut runs = Vec::new();
    for &store in &bench.stores {
        for &waiting in &bench.waiting {
            runs.push((store, waiting, false));
            if bench.pinned && store == StoreKind::Postgres {
                runs.push((store, waiting, true));
            }
        }
    }
    runs
}

impl<'a> Place<'a> {
    fn new(kind: StoreKind, folder: &'a Path, server: Option<&str>) -> Result<Self> {
        let create = || Database::create(server.context("--stores postgres needs --database-url")?);
        let database = (kind == StoreKind::Postgres).then(create).transpose()?;
        Ok(Self { kind, folder, database })
    }

    async fn open(&self) -> Result<Store> {
        match (self.kind, &self.database) {
            (StoreKind::Memory, _) => Ok(MemoryStore::new().into()),
            (_, database) => open(self.folder, database.as_ref().map(Database::url)).await,
        }
    }

    fn usage(&self) -> Result<Usage> {
        let counted = self.database.as_ref().map(Database::counted).transpose()?;
        Ok(Usage { cpu: machine::cpu_time()?, written: machine::written_bytes()?, counted })
    }

    /// Opens and verifies the store in a new process, so that its memory is that of the unfinished jobs.
    fn open_again(&self) -> Result<Opened> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "--open"]).arg(self.folder).env_remove("TENURE_BENCH_POSTGRES");
        if let Some(database) = &self.database {
            command.args(["--database-url", database.url()]);
        }
        serde_json::from_slice(&command.output()?.stdout).context("the store could not be opened again")
    }
}

impl Usage {
    /// What each operation cost since `before`.
    fn since(&self, before: &Self, throughput: &Throughput) -> LifecycleCost {
        let each = |after: u64, before: u64| {
            after.saturating_sub(before) as f64 / throughput.operations.max(1) as f64
        };
        let counted = self.counted.zip(before.counted);
        LifecycleCost {
            cpu_us: each(self.cpu.node, before.cpu.node),
            database_cpu_us: counted.map(|_| each(self.cpu.database, before.cpu.database)),
            written_bytes: counted.map_or_else(
                || each(self.written, before.written),
                |(after, before)| each(after.wal_bytes, before.wal_bytes),
            ),
            dead_rows: counted.map(|(after, before)| each(after.dead_rows, before.dead_rows)),
        }
    }
}

/// An empty store.
pub(super) async fn fresh(store: StoreKind, folder: &Path, server: Option<&str>) -> Result<Store> {
    Place::new(store, folder, server)?.open().await
}

async fn open(folder: &Path, database_url: Option<&str>) -> Result<Store> {
    let store = match database_url {
        Some(url) => Store::connect(url).await?,
        None => Store::open(folder).await?,
    };
    store.now().await?;
    Ok(store)
}

/// `tenure bench --open`: opens and verifies a store.
pub(super) async fn open_and_verify(folder: &Path, database_url: Option<&str>) -> Result<Opened> {
    let (start, process) = (Instant::now(), std::process::id());
    let store = open(folder, database_url).await?;
    let (open_ms, resident_bytes) = (ms(start), machine::resident_bytes(process)?);
    let start = Instant::now();
    let verified = tenure_runtime::verify(&store, |_| {}).await?;
    ensure!(verified.differences == 0, "the verification found differences");
    Ok(Opened {
        open_ms,
        resident_bytes,
        verified_jobs: verified.jobs,
        verify_ms: ms(start),
        peak_bytes: machine::peak_bytes(process)?,
    })
}

fn ms(start: Instant) -> u64 {
    start.elapsed().as_millis() as u64
}
