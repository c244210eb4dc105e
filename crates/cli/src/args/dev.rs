//! `tenure dev`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

pub(crate) const HELP: &str = "Examples:
  tenure dev
  tenure dev --empty --listen 127.0.0.1:7200

Then, in another terminal: tenure run flaky";

#[derive(ClapArgs)]
pub(crate) struct DevArgs {
    /// Start without the demo types and their worker
    #[arg(long)]
    pub(crate) empty: bool,
    /// Do not open the dashboard in a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7117")]
    pub(crate) listen: String,
    /// Folder of the embedded store
    #[arg(long, value_name = "DIR", default_value = "./.tenure")]
    pub(crate) data: PathBuf,
}
