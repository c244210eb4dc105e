//! From what was said to what is meant: one function for each part of a [`Config`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::time::Millis;
use tenure_runtime::Definitions;

use super::flaw::{Site, Wrong};
use super::levels::{Level, Levels, Taken};
use super::lifecycles;
use super::near::{list, shown};
use super::reader::Value;
use super::secret::DatabaseUrl;
use super::size::Size;
use super::types;
use super::value::{self, Raw};
use super::{
    Block, Config, JwtConfig, Limits, LogConfig, LogFormat, OtelConfig, StoreAt, TlsConfig, WebhooksConfig,
};

/// The largest body that may be allowed: it is held in memory.
const BODY_MAX: Size = Size(1 << 30);
/// The largest asset that may be allowed: S3 takes it in 10,000 parts, and ours have 5 MiB.
const ASSET_MAX: Size = Size(48 << 30);
const CONNECTIONS_MAX: i64 = 1_000_000;
const CREATIONS_MAX: i64 = 1_000_000;
const ALGORITHMS: &[&str] =
    &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
const ALGORITHMS_DEFAULT: &[&str] = &["RS256", "ES256", "EdDSA"];

/// Everything. Where something is wrong it is told, and a default stands in.
pub(super) fn config(levels: &mut Levels<'_>, types: Option<&Value<'_>>) -> Config {
    let (listen, _) =
        levels.value("listen", value::address, ([127, 0, 0, 1], 7117).into(), ToString::to_string);
    let store = store(levels);
    let found = lifecycles::load(levels);
    let limits = limits(levels);
    let assets = levels.optional("assets.store", assets, Clone::clone).map(|taken| taken.value);
    let webhooks = webhooks(levels);
    let (jwt, tls, otel, log) = (jwt(levels), tls(levels), otel(levels), log(levels));
    let types = types::load(levels, types, &found, limits.payload);
    let definitions = Definitions { lifecycles: found.lifecycles, types };
    Config { listen, store, definitions, limits, webhooks, jwt, tls, otel, log, assets, ..Config::default() }
}

/// The last level that names a store decides; one level cannot name both.
fn store(levels: &mut Levels<'_>) -> StoreAt {
    let folders = levels.take_all("data", value::path);
    let urls = levels.take_all("database_url", |raw| value::url(raw, &["postgres://", "postgresql://"]));
    for url in &urls {
        if folders.iter().any(|folder| folder.level == url.level) {
            let message = "`data` and `database_url` are both set, and there is one store";
            levels.wrong(&url.site, Wrong::new(message, "remove one of the two"));
        }
    }
    let (folder, url) = (folders.into_iter().next_back(), urls.into_iter().next_back());
    let level = |level: Option<Level>| level.map_or(0, |level| level as u8 + 1);
    if let Some(url) = url.filter(|url| level(Some(url.level)) > level(folder.as_ref().map(|f| f.level))) {
        let database = DatabaseUrl::new(url.value);
        levels.set("database_url", &database.to_string(), Some(&url.site));
        return StoreAt::Database(database);
    }
    let default = || (levels.folder.join("./tenure-data"), None);
    let (folder, site) = folder.map_or_else(default, |taken| (taken.value, Some(taken.site)));
    levels.set("data", &path_shown(&folder), site.as_ref());
    StoreAt::Data(folder)
}

fn limits(levels: &mut Levels<'_>) -> Limits {
    let default = Limits::default();
    let shown = |size: &Size| size.to_string();
    let payload_max = Size(tenure_core::limits::PAYLOAD_BYTES_MAX);
    let (payload, payload_site) =
        levels.value("limits.payload", |raw| value::size(raw, payload_max), Size(default.payload), shown);
    let (body, body_site) =
        levels.value("limits.body", |raw| value::size(raw, BODY_MAX), Size(default.body), shown);
    if let Some(site) = body_site.or(payload_site).filter(|_| body < payload) {
        let message = format!("a body of {body} cannot carry a payload of {payload}");
        levels.wrong(&site, Wrong::new(message, "let limits.body be the larger one"));
    }
    let (asset, _) =
        levels.value("limits.asset", |raw| value::size(raw, ASSET_MAX), Size(default.asset as usize), shown);
    let (connections, _) = levels.value(
        "limits.connections",
        |raw| value::number(raw, 1, CONNECTIONS_MAX).map(|number| number as usize),
        default.connections,
        ToString::to_string,
    );
    let (header_timeout, _) = levels.value(
        "limits.header_timeout",
        |raw| value::span(raw, Millis(100)),
        Millis(default.header_timeout.as_millis() as u64),
        ToString::to_string,
    );
    let creations = levels.optional(
        "limits.creations_per_second",
        |raw| value::number(raw, 1, CREATIONS_MAX).map(|number| number as u32),
        ToString::to_string,
    );
    Limits {
        payload: payload.0,
        body: body.0,
        asset: asset.0 as u64,
        connections,
        header_timeout: Duration::from_millis(header_timeout.0),
        creations_per_second: value_of(creations),
    }
}

fn webhooks(levels: &mut Levels<'_>) -> WebhooksConfig {
    let allow = levels.optional("webhooks.allow", blocks, |blocks| joined(blocks));
    let (retry, _) =
        levels.value("webhooks.retry", spans, WebhooksConfig::default().retry, |spans| joined(spans));
    WebhooksConfig { allow: value_of(allow).unwrap_or_default(), retry }
}

fn joined(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Blocks of addresses.
fn blocks(raw: &Raw<'_>) -> Result<Vec<Block>, Wrong> {
    let block = |part: value::Part| {
        Block::parse(&part.text).ok_or_else(|| {
            let message = format!("`{}` is not a block of addresses", shown(&part.text));
            Wrong::new(message, "write an address, or one with a prefix: 10.0.0.0/8, fd00::/8").at(part.at)
        })
    };
    value::texts(raw)?.into_iter().map(block).collect()
}

/// Spans of time.
fn spans(raw: &Raw<'_>) -> Result<Vec<Millis>, Wrong> {
    let span = |part: value::Part| {
        Millis::parse(&part.text).ok_or_else(|| {
            let message = format!("`{}` is not a duration", shown(&part.text));
            Wrong::new(message, "write it like \"5s\", \"5m\" or \"2h\"").at(part.at)
        })
    };
    value::texts(raw)?.into_iter().map(span).collect()
}

/// `file:FOLDER` or `s3://bucket/prefix`.
fn assets(raw: &Raw<'_>) -> Result<String, Wrong> {
    let text = value::text(raw)?;
    if let Some(folder) = text.strip_prefix("file:").filter(|folder| !folder.is_empty()) {
        return Ok(format!("file:{}", path_shown(&raw.base.join(folder))));
    }
    if text.strip_prefix("s3://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
        return Ok(text);
    }
    let message = format!("`{}` is not a place for assets", shown(&text));
    Err(Wrong::new(message, "write file:FOLDER, or s3://bucket/prefix"))
}

fn jwt(levels: &mut Levels<'_>) -> Option<JwtConfig> {
    let site = levels.site_of_table("auth.jwt")?;
    let issuer = levels.optional("auth.jwt.issuer", value::text, Clone::clone);
    let audience = levels.optional("auth.jwt.audience", value::text, Clone::clone);
    let jwks = levels.optional("auth.jwt.jwks", file_or_url, Clone::clone);
    let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (algorithms, _) = levels.value(
        "auth.jwt.algorithms",
        algorithms,
        strings(ALGORITHMS_DEFAULT),
        |words: &Vec<String>| words.join(", "),
    );
    let (role_claim, _) = levels.value("auth.jwt.role_claim", value::text, "role".to_owned(), Clone::clone);
    let (user_claim, _) = levels.value("auth.jwt.user_claim", value::text, "sub".to_owned(), Clone::clone);
    let all = ["auth.jwt.issuer", "auth.jwt.audience", "auth.jwt.jwks"];
    demand(levels, "auth.jwt", &site, &all);
    Some(JwtConfig {
        issuer: value_of(issuer)?,
        audience: value_of(audience)?,
        jwks: value_of(jwks)?,
        algorithms,
        role_claim,
        user_claim,
    })
}

/// Signatures that public keys can check. A shared secret is not one: whoever knows the key set could sign.
fn algorithms(raw: &Raw<'_>) -> Result<Vec<String>, Wrong> {
    let parts = value::texts(raw)?;
    if parts.is_empty() {
        return Err(Wrong::new("no token could be believed", format!("there are {}", list(ALGORITHMS))));
    }
    let known = |part: value::Part| {
        if ALGORITHMS.contains(&part.text.as_str()) {
            return Ok(part.text);
        }
        let message = format!("`{}` is not a signature that is taken", shown(&part.text));
        let help = if part.text.starts_with("HS") {
            format!("public keys cannot check shared secrets; there are {}", list(ALGORITHMS))
        } else {
            value::meant_or_list(&part.text, ALGORITHMS)
        };
        Err(Wrong::new(message, help).at(part.at))
    };
    parts.into_iter().map(known).collect()
}

/// A URL as it is, a path from the folder of whoever said it.
fn file_or_url(raw: &Raw<'_>) -> Result<String, Wrong> {
    let text = value::text(raw)?;
    if text.contains("://") {
        return value::url(raw, &["https://", "http://"]);
    }
    Ok(path_shown(&raw.base.join(text)))
}

fn tls(levels: &mut Levels<'_>) -> Option<TlsConfig> {
    let site = levels.site_of_table("tls")?;
    let show = |path: &PathBuf| path_shown(path);
    let certificate = levels.optional("tls.certificate", value::path, show);
    let key = levels.optional("tls.key", value::path, show);
    demand(levels, "tls", &site, &["tls.certificate", "tls.key"]);
    Some(TlsConfig { certificate: value_of(certificate)?, key: value_of(key)? })
}

fn otel(levels: &mut Levels<'_>) -> Option<OtelConfig> {
    let site = levels.site_of_table("otel")?;
    let read = |raw: &Raw<'_>| value::url(raw, &["http://", "https://"]);
    let endpoint = levels.optional("otel.endpoint", read, Clone::clone);
    demand(levels, "otel", &site, &["otel.endpoint"]);
    value_of(endpoint).map(|endpoint| OtelConfig { endpoint })
}

fn log(levels: &mut Levels<'_>) -> LogConfig {
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let (format, _) =
        levels.value("log.format", |raw| value::word(raw, &formats), LogFormat::Text, ToString::to_string);
    let (filter, _) = levels.value("log.filter", filter, "info".to_owned(), Clone::clone);
    LogConfig { format, filter }
}

fn filter(raw: &Raw<'_>) -> Result<String, Wrong> {
    let text = value::text(raw)?;
    tracing_subscriber::EnvFilter::builder().parse(&text).map_err(|error| {
        let message = format!("`{}` is not a filter: {error}", shown(&text));
        Wrong::new(message, "write a level, or levels for targets: info, warn,tenure_store=debug")
    })?;
    Ok(text)
}

/// Tells which of these keys nobody said.
fn demand(levels: &mut Levels<'_>, table: &str, site: &Site, keys: &[&'static str]) {
    let missing: Vec<&str> = keys.iter().copied().filter(|key| !levels.is_said(key)).collect();
    if !missing.is_empty() {
        let message = format!("[{table}] lacks {}", list(&missing));
        let help = format!("say {}, or nothing of [{table}]", list(keys));
        levels.wrong(site, Wrong::new(message, help));
    }
}

fn value_of<T>(taken: Option<Taken<T>>) -> Option<T> {
    taken.map(|taken| taken.value)
}

fn path_shown(path: &Path) -> String {
    path.display().to_string()
}
