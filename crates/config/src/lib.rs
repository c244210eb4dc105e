//! Loads the server's configuration: `tenure.toml`, then environment variables, then flags, each overriding the one
//! before. Every value keeps its origin, and all flaws are reported together, each with its place.
//!
//! In reading order: `keys` (the settings there are), `layers` (file, environment, flags), `value` (parsing one value),
//! `sections` (one function per part of [`Config`]), `types` and `lifecycles`. Nothing here opens a store or a socket.

mod address_block;
mod flaw;
mod flow;
mod flow_keys;
mod glob;
mod intake;
mod keys;
mod layers;
mod lifecycle_api;
mod lifecycles;
mod reader;
mod reload;
mod secret;
mod sections;
mod size;
mod source;
mod text;
mod type_keys;
mod types;
mod value;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::attention::AttentionThresholds;
use tenure_core::time::Millis;
use tenure_runtime::Definitions;

pub use address_block::AddressBlock;
pub use flaw::{ConfigError, Flaw, Place};
pub use intake::IntakeConfig;
pub use keys::{KEYS, Key, OnReload};
pub use lifecycle_api::{lifecycle_apis, mount_conflict};
pub use reload::{Reload, reload};
pub use secret::DatabaseUrl;

use flaw::Flaws;
use keys::FileValues;
use layers::Layers;
use reader::Reader;
use source::Source;

/// The file that is read, if it exists, when no other is named.
pub const DEFAULT_FILE: &str = "tenure.toml";

#[derive(Clone, Debug)]
pub struct Config {
    pub listen: SocketAddr,
    pub store: StoreLocation,
    /// The schema of the tables in a PostgreSQL database.
    pub database_schema: String,
    /// Databases of applications from which requests are taken.
    pub intake: Vec<IntakeConfig>,
    pub definitions: Definitions,
    pub limits: Limits,
    pub webhooks: WebhooksConfig,
    /// From when on the dashboard says that something needs attention.
    pub attention: AttentionThresholds,
    /// Accept JSON Web Tokens of this issuer, besides the server's own keys.
    pub jwt: Option<JwtConfig>,
    /// Without it, the server speaks plain HTTP.
    pub tls: Option<TlsConfig>,
    pub otel: Option<OtelConfig>,
    pub log: LogConfig,
    /// Where uploaded assets are stored: `file:FOLDER` or `s3://bucket/prefix`. `None`: a folder beside the embedded store.
    pub assets: Option<String>,
    /// Every effective value with its origin, in the order of the documentation.
    pub settings: Vec<Setting>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7117)),
            store: StoreLocation::Data(PathBuf::from("./tenure-data")),
            database_schema: "tenure".to_owned(),
            intake: Vec::new(),
            definitions: Definitions::default(),
            limits: Limits::default(),
            webhooks: WebhooksConfig::default(),
            attention: AttentionThresholds::default(),
            jwt: None,
            tls: None,
            otel: None,
            log: LogConfig::default(),
            assets: None,
            settings: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// The embedded store in this folder.
    Data(PathBuf),
    /// A PostgreSQL database.
    Database(DatabaseUrl),
}

/// Limits on requests and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a job's payload.
    pub payload: usize,
    /// Bytes of a request body.
    pub body: usize,
    /// Bytes of an uploaded asset.
    pub asset: u64,
    /// Concurrent connections.
    pub connections: usize,
    /// Time for a request's headers to arrive.
    pub header_timeout: Duration,
    /// Jobs that each user may create per second on this node; unlimited if `None`.
    pub creations_per_second: Option<u32>,
    /// Bytes of memory of the process. `None`: what its control group or the machine has.
    pub memory: Option<usize>,
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
            memory: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhooksConfig {
    /// Targets permitted besides the public internet; plain HTTP is accepted for them.
    pub allow: Vec<AddressBlock>,
    /// The delay after each consecutive failure. A webhook that fails once more is disabled.
    pub retry: Vec<Millis>,
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        let hours = [2, 5, 10, 14, 20, 24].map(|hours| Millis(hours * 3_600_000));
        let retry = [Millis(5000), Millis(300_000), Millis(1_800_000)].into_iter().chain(hours).collect();
        Self { allow: Vec::new(), retry }
    }
}

/// The issuer of accepted JSON Web Tokens, and how its claims are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtConfig {
    /// The exact value of `iss`.
    pub issuer: String,
    /// A value that `aud` must be or contain.
    pub audience: String,
    /// The issuer's public keys: a path, or an `http(s)://` URL.
    pub jwks: String,
    /// Accepted signature algorithms, such as `RS256`.
    pub algorithms: Vec<String>,
    /// The claim with the caller's role.
    pub role_claim: String,
    /// The claim with the caller's `user_id`.
    pub user_claim: String,
}

/// Certificate and key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The chain, the server's certificate first.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtelConfig {
    /// An OTLP collector that accepts HTTP, such as `http://127.0.0.1:4318`.
    pub endpoint: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    pub format: LogFormat,
    /// A `tracing` filter: `info`, `warn,tenure_store=debug`.
    pub filter: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
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

/// The flags of `tenure serve`, unparsed.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The file to read; it must exist.
    pub config: Option<PathBuf>,
    pub listen: Option<String>,
    pub data: Option<PathBuf>,
    pub database_url: Option<String>,
}

/// One effective value as text, passwords hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The full key: `limits.payload`.
    pub name: String,
    pub value: String,
    /// `default`, the file and its line, or the name of the variable or flag.
    pub origin: String,
}

/// A configuration, and the file that was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    pub file: Option<PathBuf>,
}

/// Loads the configuration; relative paths in flags and variables start at the current folder.
pub fn load(flags: &Flags, env: impl Fn(&str) -> Option<String>) -> Result<Loaded, ConfigError> {
    load_in(Path::new(""), flags, env)
}

/// Loads the configuration as if `folder` were the current folder.
pub fn load_in(
    folder: &Path,
    flags: &Flags,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Loaded, ConfigError> {
    let source = find_source(folder, flags, &env)?;
    let mut flaws = Flaws::default();
    let root = source.as_ref().and_then(|source| reader::parse(source, &mut flaws));
    let mut values = FileValues::default();
    if let (Some(source), Some(root)) = (&source, &root) {
        keys::collect(&mut Reader { source, flaws: &mut flaws }, root.get_ref(), "", &mut values);
    }
    let mut layers = Layers::new(folder, source.as_ref(), &values, flags, &env, flaws);
    let config = sections::config(&mut layers, values.named);
    let Layers { settings, flaws, .. } = layers;
    let flaws = flaws.into_sorted();
    if flaws.is_empty() {
        Ok(Loaded { config: Config { settings, ..config }, file: source.map(|source| source.path) })
    } else {
        Err(ConfigError::Flawed(flaws))
    }
}

/// The file to read: the named one, or the default one if it exists.
fn find_source(
    folder: &Path,
    flags: &Flags,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Source>, ConfigError> {
    let variable = env("TENURE_CONFIG").filter(|text| !text.is_empty()).map(PathBuf::from);
    let named = flags.config.clone().or(variable);
    let path = folder.join(named.as_deref().unwrap_or(Path::new(DEFAULT_FILE)));
    match source::read(&path, source::FILE_BYTES_MAX) {
        Ok(text) => Ok(Some(Source::new(path, text))),
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConfigError::Unreadable { file: path, error }),
    }
}
