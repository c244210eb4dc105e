//! The runtime without HTTP on each kind of store, with many waiting jobs, next to the limit of a bare log file.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use tenure_store::{MemoryStore, Store};

use super::embedded::Embedded;
use super::{Throughput, disk, machine};
use crate::args::{BenchArgs, StoreKind};
use crate::output;

/// The payload and the four events of one lifecycle, as JSON.
pub(super) const LIFECYCLE_BYTES: usize = 1_722;
const CALLERS: [usize; 4] = [1, 16, 128, 1024];

/// Lifecycles per second, and CPU time for each, of one store with so many waiting jobs and callers, and of a log file.
#[derive(Serialize)]
pub(super) struct StoreRate {
    pub(super) store: StoreKind,
    pub(super) waiting: usize,
    pub(super) callers: usize,
    pub(super) per_second: f64,
    pub(super) cpu_us: f64,
    pub(super) limit_per_second: f64,
    limit_cpu_us: f64,
}

/// How long it took to open an embedded store, and the memory of the process afterwards.
#[derive(Serialize)]
pub(super) struct Opening {
    pub(super) waiting: usize,
    pub(super) open_ms: u64,
    pub(super) resident_bytes: u64,
}

#[derive(Default, Serialize)]
pub(super) struct Comparison {
    lifecycle_bytes: usize,
    pub(super) stores: Vec<StoreRate>,
    pub(super) openings: Vec<Opening>,
}

pub(super) async fn measure(bench: &BenchArgs, folder: &Path) -> Result<Comparison> {
    let callers = if bench.callers.is_empty() { &CALLERS[..] } else { &bench.callers };
    let span = Duration::from_secs(bench.seconds);
    let mut comparison = Comparison { lifecycle_bytes: LIFECYCLE_BYTES, ..Comparison::default() };
    for &store in &bench.stores {
        for &waiting in &bench.waiting {
            let data = folder.join(format!("{store:?}-{waiting}"));
            let embedded = Embedded::on(fresh(store, &data, bench.database_url.as_deref()).await?).await?;
            embedded.fill_waiting(waiting).await?;
            for &callers in callers {
                output::message(&format!("measuring {store:?}, {waiting} waiting, {callers} callers"));
                let cpu = machine::cpu_us(store == StoreKind::Postgres)?;
                let throughput = embedded.drive(callers, 1, span).await?;
                let cpu_us = cpu_each(&throughput, machine::cpu_us(store == StoreKind::Postgres)?, cpu);
                let cpu = machine::cpu_us(false)?;
                let limit = disk::group_commits(folder, callers, span).await?;
                let limit_cpu_us = cpu_each(&limit, machine::cpu_us(false)?, cpu);
                let (per_second, limit_per_second) = (throughput.per_second(), limit.per_second());
                comparison.stores.push(StoreRate {
                    store,
                    waiting,
                    callers,
                    per_second,
                    cpu_us,
                    limit_per_second,
                    limit_cpu_us,
                });
            }
            embedded.close().await;
            if store == StoreKind::Sqlite {
                comparison.openings.push(open_again(&data, waiting)?);
            }
        }
    }
    Ok(comparison)
}

/// CPU time of each operation.
fn cpu_each(throughput: &Throughput, cpu_after: u64, cpu_before: u64) -> f64 {
    cpu_after.saturating_sub(cpu_before) as f64 / throughput.operations.max(1) as f64
}

async fn fresh(store: StoreKind, folder: &Path, database_url: Option<&str>) -> Result<Store> {
    match store {
        StoreKind::Memory => Ok(MemoryStore::new().into()),
        StoreKind::Sqlite => Ok(Store::open(folder).await?),
        StoreKind::Postgres => {
            let url = database_url.context("--stores postgres needs --database-url")?;
            let store = Store::connect(&fresh_database(url)?).await?;
            store.now().await?;
            Ok(store)
        }
    }
}

/// Creates an empty database on the server of `url`. It is not dropped.
fn fresh_database(url: &str) -> Result<String> {
    let name = format!("bench_{}_{}", std::process::id(), UNIX_EPOCH.elapsed()?.as_millis());
    let created = Command::new("psql").args([url, "-qc", &format!("create database {name}")]).status();
    ensure!(created.context("psql cannot be started")?.success(), "psql could not create a database");
    let (server, _) = url.rsplit_once('/').context("the database URL does not end with a database name")?;
    Ok(format!("{server}/{name}"))
}

/// Opens a store in a new process, so that its memory is that of the live jobs.
fn open_again(folder: &Path, waiting: usize) -> Result<Opening> {
    let output =
        Command::new(std::env::current_exe()?).args(["bench", "--open"]).arg(folder).output()?.stdout;
    let output = String::from_utf8(output)?;
    let (ms, bytes) = output.trim().split_once(' ').context("the store could not be opened again")?;
    Ok(Opening { waiting, open_ms: ms.parse()?, resident_bytes: bytes.parse()? })
}

/// `tenure bench --open`: milliseconds to open the store, and resident bytes afterwards.
pub(super) async fn open(folder: &Path) -> Result<String> {
    let start = Instant::now();
    let _store = Store::open(folder).await?;
    Ok(format!("{} {}", start.elapsed().as_millis(), machine::resident_bytes(std::process::id())?))
}
