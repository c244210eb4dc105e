//! Builds a [`Config`] from the layers: one function per part.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::attention::AttentionThresholds;
use tenure_core::time::Millis;
use tenure_runtime::Definitions;

use crate::flaw::{Site, ValueError};
use crate::flow;
use crate::intake;
use crate::keys::NamedTables;
use crate::layers::Layers;
use crate::lifecycles;
use crate::secret::DatabaseUrl;
use crate::size::Size;
use crate::text::{list, printable, suggestion};
use crate::types;
use crate::value::{self, Input, Part};
use crate::{
    AddressBlock, Config, JwtConfig, Limits, LogConfig, LogFormat, OtelConfig, StoreLocation, TlsConfig,
    WebhooksConfig,
};

/// A body is held in memory.
const BODY_MAX: Size = Size(1 << 30);
/// S3 accepts 10,000 parts per object, and ours have 5 MiB.
const ASSET_MAX: Size = Size(48 << 30);
const MEMORY_MAX: Size = Size(1 << 50);
const CONNECTIONS_MAX: i64 = 1_000_000;
const CREATIONS_MAX: i64 = 1_000_000;
const COUNT_MAX: i64 = 1_000_000_000;
const ALGORITHMS: &[&str] =
    &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
const ALGORITHMS_DEFAULT: &[&str] = &["RS256", "ES256", "EdDSA"];

/// The whole configuration. An invalid value is reported, and its default is used instead.
pub(crate) fn config(layers: &mut Layers<'_>, named: NamedTables<'_>) -> Config {
    let default = Config::default();
    let listen = layers.or_default("listen", value::address, default.listen, ToString::to_string);
    let store = store(layers);
    let database_schema =
        layers.or_default("database_schema", value::text, default.database_schema.clone(), Clone::clone);
    let found = lifecycles::load(layers);
    let limits = limits(layers);
    let assets = layers.optional("assets.store", assets, Clone::clone);
    let (webhooks, attention) = (webhooks(layers), attention(layers));
    let (jwt, tls, otel, log) = (jwt(layers), tls(layers), otel(layers), log(layers));
    let mut declarations = flow::load(layers, named.resources, named.queues);
    let types = types::load(layers, named.types, &found, limits.payload, &mut declarations);
    let definitions = Definitions { lifecycles: found.lifecycles, types, flow: Arc::new(declarations) };
    let intake = intake::load(layers, named.intake);
    Config {
        listen,
        store,
        database_schema,
        intake,
        definitions,
        limits,
        webhooks,
        attention,
        jwt,
        tls,
        otel,
        log,
        assets,
        ..default
    }
}

/// The last layer that names a store decides; one layer cannot name both.
fn store(layers: &mut Layers<'_>) -> StoreLocation {
    let folders = layers.read_all("data", value::path);
    let urls = layers.read_all("database_url", |input| value::url(input, &["postgres://", "postgresql://"]));
    let default = StoreLocation::Data(layers.folder.join("./tenure-data"));
    let (mut store, mut site) = (default, None);
    for (folder, url) in folders.into_iter().zip(urls) {
        if let (Some(_), Some(url)) = (&folder, &url) {
            let message = "`data` and `database_url` cannot both be set";
            layers.add_flaw(&url.site, ValueError::new(message, "remove one of the two"));
        }
        if let Some(folder) = folder {
            (store, site) = (StoreLocation::Data(folder.value), Some(folder.site));
        } else if let Some(url) = url {
            (store, site) = (StoreLocation::Database(DatabaseUrl::new(url.value)), Some(url.site));
        }
    }
    let (key, text) = match &store {
        StoreLocation::Data(folder) => ("data", path_text(folder)),
        StoreLocation::Database(url) => ("database_url", url.to_string()),
    };
    layers.record(key, &text, site.as_ref());
    store
}

fn limits(layers: &mut Layers<'_>) -> Limits {
    let default = Limits::default();
    let show = |size: &Size| size.to_string();
    let payload_max = Size(tenure_core::limits::PAYLOAD_BYTES_MAX);
    let payload = layers.or_default("limits.payload", value::size(payload_max), Size(default.payload), show);
    let body = layers.or_default("limits.body", value::size(BODY_MAX), Size(default.body), show);
    let site = layers.site_of("limits.body").or_else(|| layers.site_of("limits.payload"));
    if let Some(site) = site.filter(|_| body < payload) {
        let message = format!("a body of {body} cannot contain a payload of {payload}");
        layers.add_flaw(&site, ValueError::new(message, "set limits.body to at least limits.payload"));
    }
    let asset = Size(default.asset as usize);
    let asset = layers.or_default("limits.asset", value::size(ASSET_MAX), asset, show);
    let connections = value::number(1, CONNECTIONS_MAX);
    let connections =
        layers.or_default("limits.connections", connections, default.connections, ToString::to_string);
    let timeout = Millis(default.header_timeout.as_millis() as u64);
    let at_least = value::duration(Millis(100));
    let timeout = layers.or_default("limits.header_timeout", at_least, timeout, ToString::to_string);
    let creations = value::number(1, CREATIONS_MAX);
    Limits {
        payload: payload.0,
        body: body.0,
        asset: asset.0 as u64,
        connections,
        header_timeout: Duration::from_millis(timeout.0),
        creations_per_second: layers.optional("limits.creations_per_second", creations, ToString::to_string),
        memory: layers.optional("limits.memory", value::size(MEMORY_MAX), show).map(|size| size.0),
    }
}

fn webhooks(layers: &mut Layers<'_>) -> WebhooksConfig {
    let allow =
        layers.optional("webhooks.allow", |input| each(input, address_block), |blocks| joined(blocks));
    let retry = layers.or_default(
        "webhooks.retry",
        |input| each(input, value::parse_duration),
        WebhooksConfig::default().retry,
        |delays| joined(delays),
    );
    WebhooksConfig { allow: allow.unwrap_or_default(), retry }
}

fn attention(layers: &mut Layers<'_>) -> AttentionThresholds {
    let default = AttentionThresholds::default();
    let count = |layers: &mut Layers<'_>, key, default: u32| {
        layers.or_default(key, value::number(1, COUNT_MAX), default, ToString::to_string)
    };
    let span = |layers: &mut Layers<'_>, key, default: Millis| {
        layers.or_default(key, value::duration(Millis(1)), default, ToString::to_string)
    };
    let percent = value::number(0, 100);
    let (key, show) = ("attention.failure_percent", |percent: &u8| percent.to_string());
    AttentionThresholds {
        failure_percent: layers.or_default(key, percent, default.failure_percent, show),
        failed_jobs: count(layers, "attention.failed_jobs", default.failed_jobs),
        oldest_ready: span(layers, "attention.oldest_ready", default.oldest_ready),
        backlog: count(layers, "attention.backlog", default.backlog),
        drain_within: span(layers, "attention.drain_within", default.drain_within),
        pause: span(layers, "attention.pause", default.pause),
        lost_leases: count(layers, "attention.lost_leases", default.lost_leases),
        commit_time: span(layers, "attention.commit_time", default.commit_time),
    }
}

fn joined(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Parses each item of a list.
fn each<T>(input: &Input<'_>, parse: impl Fn(&str) -> Result<T, ValueError>) -> Result<Vec<T>, ValueError> {
    let parse = |part: Part| parse(&part.text).map_err(|error| error.at(part.at));
    value::texts(input)?.into_iter().map(parse).collect()
}

fn address_block(text: &str) -> Result<AddressBlock, ValueError> {
    AddressBlock::parse(text).ok_or_else(|| {
        let message = format!("`{}` is neither an address nor an address block", printable(text));
        ValueError::new(message, "write it like 192.0.2.7, 10.0.0.0/8 or fd00::/8")
    })
}

/// `file:FOLDER` or `s3://bucket/prefix`.
fn assets(input: &Input<'_>) -> Result<String, ValueError> {
    let text = value::text(input)?;
    if let Some(folder) = text.strip_prefix("file:").filter(|folder| !folder.is_empty()) {
        return Ok(format!("file:{}", path_text(&input.base.join(folder))));
    }
    if text.strip_prefix("s3://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
        return Ok(text);
    }
    let message = format!("`{}` is not an asset store", printable(&text));
    Err(ValueError::new(message, "write file:FOLDER or s3://bucket/prefix"))
}

fn jwt(layers: &mut Layers<'_>) -> Option<JwtConfig> {
    let site = layers.site_of_table("auth.jwt")?;
    let issuer = layers.optional("auth.jwt.issuer", value::text, Clone::clone);
    let audience = layers.optional("auth.jwt.audience", value::text, Clone::clone);
    let jwks = layers.optional("auth.jwt.jwks", file_or_url, Clone::clone);
    let default = ALGORITHMS_DEFAULT.iter().map(ToString::to_string).collect();
    let algorithms = layers.or_default("auth.jwt.algorithms", algorithms, default, |names| joined(names));
    let role_claim = layers.or_default("auth.jwt.role_claim", value::text, "role".to_owned(), Clone::clone);
    let user_claim = layers.or_default("auth.jwt.user_claim", value::text, "sub".to_owned(), Clone::clone);
    require(layers, "auth.jwt", &site, &["auth.jwt.issuer", "auth.jwt.audience", "auth.jwt.jwks"]);
    Some(JwtConfig { issuer: issuer?, audience: audience?, jwks: jwks?, algorithms, role_claim, user_claim })
}

/// Signature algorithms with public keys. With a shared secret, any reader of the key set could sign.
fn algorithms(input: &Input<'_>) -> Result<Vec<String>, ValueError> {
    let known = |name: &str| {
        if ALGORITHMS.contains(&name) {
            return Ok(name.to_owned());
        }
        let help = if name.starts_with("HS") {
            format!("public keys cannot verify shared secrets; available: {}", list(ALGORITHMS))
        } else {
            suggestion(name, ALGORITHMS)
        };
        Err(ValueError::new(format!("`{}` is not a supported algorithm", printable(name)), help))
    };
    let names = each(input, known)?;
    if names.is_empty() {
        let help = format!("available: {}", list(ALGORITHMS));
        return Err(ValueError::new("without an algorithm no token can be accepted", help));
    }
    Ok(names)
}

fn file_or_url(input: &Input<'_>) -> Result<String, ValueError> {
    let text = value::text(input)?;
    if text.contains("://") {
        return value::url(input, &["https://", "http://"]);
    }
    Ok(path_text(&input.base.join(text)))
}

fn tls(layers: &mut Layers<'_>) -> Option<TlsConfig> {
    let site = layers.site_of_table("tls")?;
    let show = |path: &PathBuf| path_text(path);
    let certificate = layers.optional("tls.certificate", value::path, show);
    let key = layers.optional("tls.key", value::path, show);
    require(layers, "tls", &site, &["tls.certificate", "tls.key"]);
    Some(TlsConfig { certificate: certificate?, key: key? })
}

fn otel(layers: &mut Layers<'_>) -> Option<OtelConfig> {
    let site = layers.site_of_table("otel")?;
    let parse = |input: &Input<'_>| value::url(input, &["http://", "https://"]);
    let endpoint = layers.optional("otel.endpoint", parse, Clone::clone);
    require(layers, "otel", &site, &["otel.endpoint"]);
    endpoint.map(|endpoint| OtelConfig { endpoint })
}

fn log(layers: &mut Layers<'_>) -> LogConfig {
    let LogConfig { format, filter } = LogConfig::default();
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let parse = |input: &Input<'_>| value::keyword(input, &formats);
    let format = layers.or_default("log.format", parse, format, ToString::to_string);
    let filter = layers.or_default("log.filter", log_filter, filter, Clone::clone);
    LogConfig { format, filter }
}

fn log_filter(input: &Input<'_>) -> Result<String, ValueError> {
    let text = value::text(input)?;
    tracing_subscriber::EnvFilter::builder().parse(&text).map_err(|error| {
        let message = format!("`{}` is not a log filter: {error}", printable(&text));
        ValueError::new(message, "write a level, or levels for targets: info, warn,tenure_store=debug")
    })?;
    Ok(text)
}

/// Reports which of these keys are not set.
fn require(layers: &mut Layers<'_>, table: &str, site: &Site, keys: &[&'static str]) {
    let missing: Vec<&str> = keys.iter().copied().filter(|key| layers.site_of(key).is_none()).collect();
    if !missing.is_empty() {
        let message = format!("[{table}] lacks {}", list(&missing));
        let help = format!("set {}, or remove [{table}]", list(keys));
        layers.add_flaw(site, ValueError::new(message, help));
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
