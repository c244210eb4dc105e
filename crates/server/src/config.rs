//! The configuration of `tenure serve`: `tenure.toml`, then environment variables, then flags, each later one in place
//! of the earlier. Every value knows where it came from, and everything that is wrong is told at once, with its place.
//!
//! In reading order: `keys` (what may be set), `levels` (who said it last), `value` (what a text or a TOML value
//! means), `types` and `lifecycles` (what is declared). Nothing here opens a store, a socket or a key.

mod flaw;
mod glob;
mod keys;
mod levels;
mod lifecycles;
mod near;
mod reader;
mod secret;
mod sections;
mod size;
mod source;
mod type_keys;
mod types;
mod value;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::time::Millis;
use tenure_runtime::Definitions;
use toml::de::DeTable;

pub use flaw::{ConfigError, Flaw, Place};
pub use keys::{KEYS, Key};
pub use secret::DatabaseUrl;

pub use crate::webhooks::Block;

use flaw::Flaws;
use levels::Levels;
use reader::Reader;
use source::Source;

/// The file that is read if it is there and none is named.
pub const DEFAULT_FILE: &str = "tenure.toml";

/// What a server is told before it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where its jobs are.
    pub store: StoreAt,
    /// Lifecycles and types.
    pub definitions: Definitions,
    /// Bounds on what callers may ask of it.
    pub limits: Limits,
    /// Where webhooks may go, and how often they are tried.
    pub webhooks: WebhooksConfig,
    /// Whose tokens it believes, besides its own keys.
    pub jwt: Option<JwtConfig>,
    /// Without it, it speaks plain HTTP.
    pub tls: Option<TlsConfig>,
    /// Where its traces go.
    pub otel: Option<OtelConfig>,
    /// What it says of itself, and how.
    pub log: LogConfig,
    /// Where uploaded assets are kept: `file:FOLDER` or `s3://bucket/prefix`. None: a folder beside the embedded store.
    pub assets: Option<String>,
    /// Every value that is in force, and who said so, for people to read.
    pub settings: Vec<Setting>,
}

impl Default for Config {
    /// What a server is that was told nothing.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7117)),
            store: StoreAt::Data(PathBuf::from("./tenure-data")),
            definitions: Definitions::default(),
            limits: Limits::default(),
            webhooks: WebhooksConfig::default(),
            jwt: None,
            tls: None,
            otel: None,
            log: LogConfig { format: LogFormat::Text, filter: "info".to_owned() },
            assets: None,
            settings: Vec::new(),
        }
    }
}

/// Where the jobs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAt {
    /// The embedded store in this folder.
    Data(PathBuf),
    /// A PostgreSQL database.
    Database(DatabaseUrl),
}

/// Bounds on what callers may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a job's payload.
    pub payload: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Bytes of an uploaded asset.
    pub asset: u64,
    /// Connections at once.
    pub connections: usize,
    /// How long a request's head may take to arrive.
    pub header_timeout: Duration,
    /// Jobs that each user may create in a second on this node; any number, if `None`.
    pub creations_per_second: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload: tenure_core::limits::PAYLOAD_BYTES_MAX,
            body: 16 << 20,
            asset: 1 << 30,
            connections: 4096,
            header_timeout: Duration::from_secs(10),
            creations_per_second: None,
        }
    }
}

/// Where webhooks may go, and how often they are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhooksConfig {
    /// Addresses besides the public internet's; plain HTTP will do for them.
    pub allow: Vec<Block>,
    /// How long to wait after each failure in a row; after one more it is disabled.
    pub retry: Vec<Millis>,
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        let hours = [2, 5, 10, 14, 20, 24].map(|hours| Millis(hours * 3_600_000));
        let retry = [Millis(5000), Millis(300_000), Millis(1_800_000)].into_iter().chain(hours).collect();
        Self { allow: Vec::new(), retry }
    }
}

/// Whose JSON Web Tokens are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtConfig {
    /// What `iss` must be.
    pub issuer: String,
    /// What `aud` must contain.
    pub audience: String,
    /// The public keys: a path, or an `http(s)://` URL.
    pub jwks: String,
    /// The signatures that are taken.
    pub algorithms: Vec<String>,
    /// The claim that says the caller's role.
    pub role_claim: String,
    /// The claim that says the caller's `user_id`.
    pub user_claim: String,
}

/// Certificate and key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The chain, the server's own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Where traces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtelConfig {
    /// An OTLP collector that speaks HTTP.
    pub endpoint: String,
}

/// How the server's own log is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// For people or for programs.
    pub format: LogFormat,
    /// What is written, as `tracing` filters say it: `info`, `warn,tenure_store=debug`.
    pub filter: String,
}

/// How a line of the server's own log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// What the command line said, as it was said.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--config`: must be there.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<PathBuf>,
    /// `--database-url`.
    pub database_url: Option<String>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// The configuration file.
    File {
        /// As it was named.
        file: PathBuf,
        /// From 1.
        line: usize,
    },
    /// The environment variable of this name.
    Variable(String),
    /// The flag of this name, with its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line } => write!(f, "{}:{line}", file.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// One value in force, for people: passwords are hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its place in the file: `limits.payload`.
    pub name: String,
    /// As it would be written.
    pub value: String,
    /// Who said so.
    pub origin: Origin,
}

/// A configuration, and where each of its values came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the server needs.
    pub config: Config,
    /// Every value that is in force, in the order of the documentation.
    pub settings: Vec<Setting>,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
}

/// Reads the configuration; relative paths of flags and variables are the current folder's.
pub fn load(flags: &Flags, env: impl Fn(&str) -> Option<String>) -> Result<Loaded, ConfigError> {
    load_in(Path::new(""), flags, env)
}

/// Reads the configuration as if `folder` were the current one.
pub fn load_in(
    folder: &Path,
    flags: &Flags,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Loaded, ConfigError> {
    let source = source_of(folder, flags, &env)?;
    let mut flaws = Flaws::default();
    let root = source.as_ref().and_then(|source| reader::parse(source, &mut flaws));
    let mut leaves = keys::Leaves::default();
    if let (Some(source), Some(root)) = (&source, &root) {
        let root: &DeTable<'_> = root.get_ref();
        keys::walk(&mut Reader { source, flaws: &mut flaws }, root, "", &mut leaves);
    }
    let mut levels = Levels::new(folder, source.as_ref(), &leaves, flags, &env, flaws);
    levels.refuse_tables_as_variables();
    let config = sections::config(&mut levels, leaves.types);
    let Levels { settings, flaws, .. } = levels;
    let config = Config { settings: settings.clone(), ..config };
    match flaws.into_sorted() {
        none if none.is_empty() => {
            Ok(Loaded { config, settings, file: source.map(|source| source.path.clone()) })
        }
        some => Err(ConfigError::Flawed(some)),
    }
}

/// A file with every setting, commented.
pub fn example() -> &'static str {
    include_str!("config/example.toml")
}

/// The file to read: the named one, or the default one if it is there.
fn source_of(
    folder: &Path,
    flags: &Flags,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Source>, ConfigError> {
    let variable = env("TENURE_CONFIG").filter(|text| !text.is_empty()).map(PathBuf::from);
    let named = flags.config.clone().or(variable);
    let path = folder.join(named.as_deref().unwrap_or(Path::new(DEFAULT_FILE)));
    match source::read(&path, source::FILE_BYTES_MAX) {
        Ok(text) => Ok(Some(Source::new(path, text))),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConfigError::Unreadable { file: path, error }),
    }
}
