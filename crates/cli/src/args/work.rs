//! `tenure work`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

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
    /// Folder in which the program runs [default: the folder of the job]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Accept commands in stdout, too; only for programs that never print what others wrote
    #[arg(long)]
    pub(crate) commands_in_output: bool,
    /// Program to run for each job, and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}
