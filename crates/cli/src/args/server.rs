//! What runs or reads a store on this machine: `serve`, `verify`, `config`, and what is made for the shell.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;

/// `tenure serve`.
#[derive(ClapArgs)]
pub(crate) struct Serve {
    /// The configuration; `tenure.toml` in this folder, if it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen [default: 127.0.0.1:7117]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// The folder of the embedded store [default: ./tenure-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A PostgreSQL store instead
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    pub(crate) database_url: Option<String>,
}

/// `tenure verify`.
#[derive(ClapArgs)]
pub(crate) struct Verify {
    /// The folder of an embedded store
    #[arg(long, env = "TENURE_DATA", value_name = "DIR", default_value = "./tenure-data")]
    pub(crate) data: PathBuf,
    /// A PostgreSQL store instead
    #[arg(long, env = "TENURE_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
}

/// `tenure config`.
#[derive(ClapArgs)]
pub(crate) struct Config {
    /// The configuration; `tenure.toml` in this folder, if it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// `tenure completions`.
#[derive(ClapArgs)]
pub(crate) struct Completions {
    /// Whose completions
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// `tenure man`.
#[derive(ClapArgs)]
pub(crate) struct Man {
    /// Writes a page for each command into this folder, instead of the first one to stdout
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
