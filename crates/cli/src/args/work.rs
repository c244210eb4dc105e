//! `tenure work`.

use clap::Args as ClapArgs;

pub(super) const HELP: &str = "Examples:
  tenure work hello -- ./hello.sh
  tenure work resize thumbnail --slots 4 --queue pictures -- python3 pictures.py
  tenure work import --retry-on 1,75 -- sh -c 'echo ::progress 50 half; cat'

The program gets the payload on stdin and these environment variables: TENURE_JOB_ID, TENURE_ATTEMPT, TENURE_FENCE,
TENURE_TYPE, TENURE_LIFECYCLE, TENURE_WORKER, TENURE_CORRELATION_ID, TENURE_TRACEPARENT (also as TRACEPARENT), and
TENURE_CHECKPOINT if the job has a checkpoint. Its output becomes the job's log, except for these lines:
  ::progress 40 text     progress, from 0 to 100
  ::result {\"n\": 1}      the result, any JSON; the last one is used
  ::asset png out.png    a file to store as an asset of this type
Exit code 0 means success, 75 a transient failure, any other a permanent failure. The program gets SIGTERM when the job is
cancelled, SIGKILL when it is cancelled with --hard or its lease is lost. On SIGTERM, this command claims no more jobs and
exits when running jobs have finished; on a second SIGTERM it stops them and releases the jobs.";

#[derive(ClapArgs)]
pub(crate) struct WorkArgs {
    /// Job types to work on
    #[arg(required = true, value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Number of jobs to run at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) slots: u16,
    /// Only claim from this queue; may be repeated
    #[arg(long = "queue", value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,
    /// Name of the worker, unique among running workers [default: generated]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Exit codes that count as transient failures
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "75")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) retry_on: Vec<u8>,
    /// Program to run for each job, and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}
