//! `tenure bench`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use serde::Serialize;

/// `tenure bench`.
#[derive(ClapArgs)]
pub(crate) struct BenchArgs {
    /// Load the server given by --server instead of starting one
    #[arg(long)]
    pub(crate) running: bool,
    /// Duration of each measurement in seconds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    /// Concurrent callers, each waiting for every response [default: 128; with --stores: 1,16,128,1024]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = positive)]
    pub(crate) callers: Vec<usize>,
    /// Jobs in a batch
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = positive)]
    pub(crate) batch: usize,
    /// Concurrent callers that send batches
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    pub(crate) batch_callers: usize,
    /// Jobs for which the time from creation to start is measured
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = positive)]
    pub(crate) samples: usize,
    /// Also measure with this many waiting claims and as many event streams open
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) idle: usize,
    /// Also measure with this many dashboard pages open
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) dashboards: usize,
    /// Only measure how long each dashboard page takes on a store with this many jobs
    #[arg(long, value_name = "JOBS", default_value_t = 0, conflicts_with = "running")]
    pub(crate) pages: usize,
    /// Also measure this many engines connected to the socket
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) engines: usize,
    /// Only measure the runtime without HTTP on these stores, compared with a bare log file
    #[arg(long, value_enum, value_name = "STORES", value_delimiter = ',', conflicts_with_all = ["running", "pages"])]
    pub(crate) stores: Vec<StoreKind>,
    /// Jobs that wait in the store while --stores measures
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "10000,1000000",
        requires = "stores"
    )]
    pub(crate) waiting: Vec<usize>,
    /// Jobs that have finished before --stores measures
    #[arg(long, value_name = "N", default_value_t = 0, requires = "stores")]
    pub(crate) finished: usize,
    /// Measure PostgreSQL also while another transaction holds a snapshot
    #[arg(long, requires = "stores")]
    pub(crate) pinned: bool,
    /// Only measure flow control with this many jobs, and with a hundred times as many that wait
    #[arg(long, value_name = "JOBS", num_args = 0..=1, default_missing_value = "10000", value_parser = clap::value_parser!(usize), conflicts_with_all = ["running", "pages", "stores"])]
    pub(crate) flow: Option<usize>,
    /// PostgreSQL server for --stores postgres and --flow; needs psql, and a new database is created for each measurement
    #[arg(long, env = "TENURE_BENCH_POSTGRES", hide_env_values = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Open the store in this folder, or that of --database-url, and verify it; print times and memory
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) open: Option<PathBuf>,
}

/// A store on which the runtime can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    Memory,
    Sqlite,
    Postgres,
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| (1..=4096).contains(number)).ok_or_else(|| "from 1 to 4096".to_owned())
}
