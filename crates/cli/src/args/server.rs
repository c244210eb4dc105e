//! `tenure serve` and `tenure dev`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
pub(crate) struct ServeArgs {
    /// Configuration file [default: tenure.toml in this folder, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:7117]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Folder of the embedded store [default: ./tenure-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Use a PostgreSQL store instead
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    pub(crate) database_url: Option<String>,
}

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
