//! `tenure work`.

use clap::Args as ClapArgs;

/// What stands before its help.
pub(super) const HELP: &str = "Examples:
  tenure work hello -- ./hello.sh
  tenure work resize thumbnail --slots 4 --queue pictures -- python3 pictures.py
  tenure work import --retry-on 1,75 -- sh -c 'echo ::progress 50 half; cat'

The payload is on the program's stdin. In its environment are TENURE_JOB_ID, TENURE_ATTEMPT, TENURE_FENCE, TENURE_TYPE,
TENURE_LIFECYCLE, TENURE_WORKER, TENURE_CORRELATION_ID, TENURE_TRACEPARENT (and TRACEPARENT), and TENURE_CHECKPOINT if
there is one. What it writes becomes the job's log, but for lines such as
  ::progress 40 text     progress, from 0 to 100
  ::result {\"n\": 1}      the result: any JSON; the last one counts
Exit 0 succeeds, 75 fails for now, anything else fails for good. SIGTERM comes on a soft cancel, SIGKILL on a hard one or
when the lease is lost. SIGTERM to this command: no new jobs, those begun finish; a second one ends and releases them.";

/// `tenure work`.
#[derive(ClapArgs)]
pub(crate) struct Work {
    /// Which types of jobs
    #[arg(required = true, value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// How many jobs at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) slots: u16,
    /// Only from this queue; may be said more than once
    #[arg(long = "queue", value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
    /// The worker's name; no two live ones may have the same [default: one of its own]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Exit codes after which another attempt may help
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "75")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) retry_on: Vec<u8>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
