//! The URL of a database: the driver's settings, those for TLS, and Tenure's `prepared=off` and `notify=off`.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::schema::SchemaName;
use super::tls::{Encryption, TlsOptions};
use crate::{ApplyReload, StoreError};

/// The largest value of `lanes`, which earlier versions used.
const LANES_MAX: usize = 64;

/// A server, or several of which one is the primary, and how to connect.
#[derive(Clone)]
pub(super) struct DatabaseServer {
    pub(super) config: Config,
    pub(super) schema: SchemaName,
    tls_options: TlsOptions,
    /// The same for all clones: a reload replaces it.
    tls: Arc<Mutex<MakeRustlsConnect>>,
}

impl DatabaseServer {
    /// What encrypts a new connection.
    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files of the URL again. New connections use them after the result was called.
    pub(super) fn reload(&self) -> Result<ApplyReload, StoreError> {
        let loaded = self.tls_options.connector(&mut self.config.clone()).map_err(|why| refused(&why))?;
        let tls = Arc::clone(&self.tls);
        Ok(Box::new(move || *tls.lock().unwrap_or_else(PoisonError::into_inner) = loaded))
    }
}

impl fmt::Debug for DatabaseServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(formatter)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) server: DatabaseServer,
    /// Whether statements are prepared. Must be off behind a pooler that moves transactions between connections.
    pub(super) prepared: bool,
    /// Whether nodes notify each other of commits.
    pub(super) notify: bool,
}

impl Options {
    /// Parses a URL and the name of Tenure's schema, with defaults for time limits.
    pub(super) fn parse(url: &str, schema: &str) -> Result<Self, StoreError> {
        let schema = SchemaName::parse(schema)?;
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut prepared, mut notify) = (true, true);
        let (mut theirs, mut tls) = (Vec::new(), TlsOptions::default());
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                // The number of batches in flight of earlier versions. One at a time commits.
                Some(("lanes", text)) => check_lanes(text)?,
                Some(("prepared", text)) => prepared = switch("prepared", text)?,
                Some(("notify", text)) => notify = switch("notify", text)?,
                Some(("sslmode", text)) => tls.mode = Some(encryption(text)?),
                Some(("sslrootcert", text)) => tls.root = Some(path(text)?),
                Some(("sslcert", text)) => tls.certificate = Some(path(text)?),
                Some(("sslkey", text)) => tls.key = Some(path(text)?),
                _ => theirs.push(part),
            }
        }
        let url = if theirs.is_empty() { base.to_owned() } else { format!("{base}?{}", theirs.join("&")) };
        let config = url.parse::<Config>().map_err(|error| refused(&super::error::text(&error)))?;
        let mut config = with_limits(config);
        let connector = tls.connector(&mut config).map_err(|why| refused(&why))?;
        let server =
            DatabaseServer { config, schema, tls_options: tls, tls: Arc::new(Mutex::new(connector)) };
        Ok(Self { server, prepared, notify })
    }
}

/// Detects a dead peer within seconds, and does not use a standby as the primary.
fn with_limits(mut config: Config) -> Config {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(2));
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(10));
    }
    if config.get_application_name().is_none() {
        config.application_name("tenure");
    }
    if config.get_hosts().len() > 1 {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config.keepalives_idle(Duration::from_secs(5));
    config.keepalives_interval(Duration::from_secs(2));
    config.keepalives_retries(3);
    config
}

fn encryption(text: &str) -> Result<Encryption, StoreError> {
    let known = "disable, allow, prefer, require, verify-ca or verify-full";
    Encryption::parse(text).ok_or_else(|| refused(&format!("sslmode must be {known}, not `{text}`")))
}

fn path(text: &str) -> Result<PathBuf, StoreError> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|path| path.into_owned().into()).map_err(|_| refused(&format!("`{text}` is not UTF-8")))
}

fn check_lanes(text: &str) -> Result<(), StoreError> {
    let is_valid = text.parse().is_ok_and(|lanes: usize| (1..=LANES_MAX).contains(&lanes));
    let why = || refused(&format!("lanes must be from 1 to {LANES_MAX}, not `{text}`"));
    if is_valid { Ok(()) } else { Err(why()) }
}

fn switch(name: &str, text: &str) -> Result<bool, StoreError> {
    match text {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(refused(&format!("{name} must be `on` or `off`, not `{text}`"))),
    }
}

fn refused(why: &str) -> StoreError {
    StoreError::Unsafe(format!("the URL of the database cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_settings_are_taken_out_of_the_url_and_the_rest_is_the_drivers() {
        let url = "postgres://u@h:5433/db?lanes=4&sslmode=disable&options=-c%20search_path%3Dmine&prepared=off&connect_timeout=7";
        let options = Options::parse(url, "tenure").unwrap();
        assert_eq!((options.prepared, options.notify), (false, true));
        assert_eq!(options.server.config.get_options(), Some("-c search_path=mine"));
        assert_eq!(options.server.config.get_connect_timeout(), Some(&Duration::from_secs(7)));
    }

    #[test]
    fn what_the_url_does_not_say_is_filled_in() {
        let options = Options::parse("postgres://u@h/db", "tenure").unwrap();
        assert_eq!((options.prepared, options.notify), (true, true));
        assert_eq!(options.server.config.get_connect_timeout(), Some(&Duration::from_secs(2)));
    }

    #[test]
    fn nonsense_is_refused() {
        for url in [
            "postgres://h?lanes=0",
            "postgres://h?lanes=many",
            "postgres://h?prepared=maybe",
            "postgres://h?x=1",
            "postgres://h?sslmode=verify",
            "postgres://h?sslmode=verify-full&sslrootcert=%2Fnone",
        ] {
            assert!(matches!(Options::parse(url, "tenure"), Err(StoreError::Unsafe(_))), "{url}");
        }
    }
}
