//! How fast: full lifecycles (create, claim, start, succeed: four acknowledged commands, four events) per second and
//! CPU microseconds each, through the runtime, on each store; beside them, in the same run and with the same callers,
//! the bare limit: the same bytes appended to a file in groups, each made durable by one fdatasync.
//!
//! `cargo xtask bench` runs it and gives it a scratch PostgreSQL. Timings never decide a test.

mod args;
mod bare;
mod drive;
mod machine;

use std::path::Path;
use std::time::Instant;

use args::{Args, Which};
use drive::Rate;
use tenure_runtime::{Definitions, Options, Runtime};
use tenure_store::{AnyStore, MemoryStore, Store};

/// The allocator of the `tenure` binary, so that the figures are its own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let args = Args::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match &args.open {
        Some(folder) => runtime.block_on(open(folder)),
        None => runtime.block_on(run(&args)),
    }
}

/// In a process of its own: how long opening takes, and how much memory the live jobs need.
async fn open(folder: &Path) -> Result<(), Failed> {
    let begun = Instant::now();
    let _store = AnyStore::open(folder).await?;
    println!("{} {}", begun.elapsed().as_millis(), machine::resident_bytes()?);
    Ok(())
}

async fn run(args: &Args) -> Result<(), Failed> {
    let bytes = drive::bytes_of_a_lifecycle().await?;
    println!(
        "a lifecycle is {bytes} bytes in four commits; {} s a line; {} cores",
        args.seconds,
        machine::cores()
    );
    println!(
        "{:<10} {:>9} {:>8} {:>12} {:>8} {:>12} {:>7}",
        "store", "waiting", "callers", "lifecycles/s", "CPU µs", "bare limit/s", "ratio"
    );
    for which in &args.stores {
        for &waiting in &args.waiting {
            let scratch = machine::Scratch::new()?;
            let store = fresh(*which, scratch.path()).await?;
            let runtime = Runtime::start(store, Definitions::default(), Options::default()).await?;
            drive::fill(&runtime, waiting).await?;
            for &callers in &args.callers {
                let ours = drive::measure(&runtime, callers, args.seconds).await?;
                let limit = bare::measure(scratch.path(), callers, args.seconds, bytes).await?;
                line(*which, waiting, callers, ours, limit);
            }
            runtime.stop().await;
            drop(runtime);
            if *which == Which::Sqlite {
                report_opening(scratch.path(), waiting)?;
            }
        }
    }
    Ok(())
}

fn line(which: Which, waiting: usize, callers: usize, ours: Rate, limit: Rate) {
    let ratio = 100.0 * ours.per_second / limit.per_second;
    println!(
        "{:<10} {waiting:>9} {callers:>8} {:>12.0} {:>8.0} {:>12.0} {ratio:>6.1}%",
        which.name(),
        ours.per_second,
        ours.cpu_us,
        limit.per_second,
    );
}

async fn fresh(which: Which, folder: &Path) -> Result<AnyStore, Failed> {
    match which {
        Which::Memory => Ok(AnyStore::Memory(MemoryStore::new())),
        Which::Sqlite => Ok(AnyStore::open(&folder.join("store")).await?),
        Which::Postgres => {
            let url =
                std::env::var("TENURE_BENCH_POSTGRES").map_err(|_| "TENURE_BENCH_POSTGRES is not set")?;
            let store = AnyStore::connect(&machine::fresh_database(&url)?).await?;
            store.now().await?;
            Ok(store)
        }
    }
}

/// Opens the store again in a process of its own, so that the memory is only the live jobs'.
fn report_opening(folder: &Path, waiting: usize) -> Result<(), Failed> {
    let told = std::process::Command::new(std::env::current_exe()?)
        .arg("--open")
        .arg(folder.join("store"))
        .output()?;
    let told = String::from_utf8(told.stdout)?;
    let (ms, bytes) = told.trim().split_once(' ').ok_or("the child did not say how long it took")?;
    println!(
        "           opened with {waiting} waiting in {ms} ms, {} MB resident",
        bytes.parse::<u64>()? / 1_000_000
    );
    Ok(())
}
