//! Commands that run or read a store on this machine (`serve`, `verify`, `config`), and shell support.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;

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
pub(crate) struct VerifyArgs {
    /// Folder of an embedded store
    #[arg(long, env = "TENURE_DATA", value_name = "DIR", default_value = "./tenure-data")]
    pub(crate) data: PathBuf,
    /// Verify a PostgreSQL store instead
    #[arg(long, env = "TENURE_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct ConfigArgs {
    /// Configuration file [default: tenure.toml in this folder, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// Shell to print completions for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(ClapArgs)]
pub(crate) struct ManArgs {
    /// Write one page per command into this folder instead of printing the main page
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
}
