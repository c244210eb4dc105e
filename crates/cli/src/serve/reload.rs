//! Reloads the configuration of a running server: the same files, environment and flags as at its start. Either all of it
//! is applied, or the running one stays and the log says why.

use tenure_config::{Config, ConfigError, Flags};
use tenure_server::Server;
use tenure_server::telemetry::Telemetry;

pub(super) async fn reload(server: &mut Server, flags: &Flags, telemetry: &Telemetry) {
    let Some(config) = load(flags).await else { return };
    let log = config.log.clone();
    match server.reload(config).await {
        Ok(reload) => {
            // The filter was checked when the configuration was loaded.
            if let Err(error) = telemetry.set_filter(&log) {
                tracing::error!(%error, "log filter not applied");
            }
            let changed = reload.changed.join(", ");
            if !reload.needs_restart.is_empty() {
                let settings = reload.needs_restart.join(", ");
                tracing::warn!(settings, "configuration reload: setting needs a restart");
            }
            tracing::info!(changed, "configuration reloaded");
        }
        Err(error) => tracing::error!(%error, "configuration reload failed"),
    }
}

/// The configuration, or `None` if it has flaws, which are logged.
async fn load(flags: &Flags) -> Option<Config> {
    let flags = flags.clone();
    let load = move || tenure_config::load(&flags, |name| std::env::var(name).ok());
    let error = match tokio::task::spawn_blocking(load).await.ok()? {
        Ok(loaded) => return Some(loaded.config),
        Err(error) => error,
    };
    match error {
        ConfigError::Flawed(flaws) => {
            for flaw in flaws {
                tracing::error!(place = %flaw.place, error = flaw.message, "configuration reload failed");
            }
        }
        ConfigError::Unreadable { .. } => tracing::error!(%error, "configuration reload failed"),
    }
    None
}
