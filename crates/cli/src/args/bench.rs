//! `tenure bench`.

use clap::Args as ClapArgs;

/// The examples of its help.
pub(crate) const HELP: &str = "Examples:
  tenure bench
  tenure bench --seconds 2 --callers 16 --idle 100 -o json
  tenure bench --engines 500
  tenure bench --dashboards 100
  tenure bench --pages 1000000
  tenure bench --running --server http://127.0.0.1:7117

Without --running it starts a server and a store of its own in a temporary folder, and measures beside it, in the same
run, what the disk and the runtime do alone. The load has one half of the cores, the server the other. A lifecycle is a
job that is created, claimed, started and finished: four requests, four events. The requests are those of the SDK's
workers: who does not look at a job that comes back asks for none (Prefer: return=minimal).";

/// `tenure bench`.
#[derive(ClapArgs)]
pub(crate) struct Bench {
    /// Load the server that --server names, instead of one of its own
    #[arg(long)]
    pub(crate) running: bool,
    /// How long each measurement takes
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    /// Callers at once that wait for every answer
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = positive)]
    pub(crate) callers: usize,
    /// Jobs in a batch
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = positive)]
    pub(crate) batch: usize,
    /// Callers at once that send batches
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    pub(crate) batch_callers: usize,
    /// Jobs whose way from creation to start is timed
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = positive)]
    pub(crate) samples: usize,
    /// Open this many waiting claims and as many streams, and measure beside them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) idle: usize,
    /// Open this many pages of the dashboard, and measure beside them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) dashboards: usize,
    /// Make this many jobs, and measure how long the pages of the dashboard take, and nothing else
    #[arg(long, value_name = "JOBS", default_value_t = 0, conflicts_with = "running")]
    pub(crate) pages: usize,
    /// Connect this many engines to the socket, and measure how fast they are served
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) engines: usize,
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| (1..=1000).contains(number)).ok_or_else(|| "from 1 to 1000".to_owned())
}
