//! `tenure dev`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// The examples of its help.
pub(crate) const HELP: &str = "Examples:
  tenure dev
  tenure dev --empty --listen 127.0.0.1:7200

Then, in another terminal: tenure run flaky";

/// `tenure dev`.
#[derive(ClapArgs)]
pub(crate) struct Dev {
    /// Without the demo types and their worker
    #[arg(long)]
    pub(crate) empty: bool,
    /// Leave the browser alone: in a terminal of a desktop the dashboard is opened
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7117")]
    pub(crate) listen: String,
    /// The folder of the embedded store
    #[arg(long, value_name = "DIR", default_value = "./.tenure")]
    pub(crate) data: PathBuf,
}
