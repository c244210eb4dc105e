//! Applies a configuration that was loaded again to a running server: all of it, or nothing.

use tenure_config::{Config, Reload, reload};

use crate::lifecycle_api::LifecycleApis;
use crate::listen::ListenerSettings;
use crate::{ServeError, Server, configuration};

impl Server {
    /// Applies a loaded configuration. Everything that may be refused is checked before anything changes, and the running
    /// configuration stays if something is refused. Settings that need a restart keep their values.
    pub async fn reload(&mut self, loaded: Config) -> Result<Reload, ServeError> {
        let reload = reload(&self.config, loaded);
        let config = &reload.config;
        let (keyring, runtime) = (self.app.keyring(), self.app.runtime());
        let lifecycle_apis =
            LifecycleApis::new(&config.definitions.lifecycles).map_err(ServeError::Config)?;
        let listener = ListenerSettings::new(config).map_err(ServeError::Config)?;
        let apply_to_store =
            runtime.store().reload().map_err(|error| ServeError::Config(error.to_string()))?;
        let jwt = match config.jwt.clone() {
            Some(jwt) => Some(keyring.reopen_jwt(jwt).await.map_err(ServeError::Config)?),
            None => None,
        };
        if keyring.would_be_open(jwt.is_some()) && !self.address.ip().is_loopback() {
            return Err(ServeError::Open(self.address));
        }
        // The last step that may fail. It changes nothing if it does, unless the store fails meanwhile.
        runtime.redefine(config.definitions.clone()).await?;
        apply_to_store();
        let catalog = runtime.catalog();
        self.app.metrics.add_definitions(&catalog);
        self.app.stats().add_types(&catalog);
        self.app.stats().set_thresholds(config.attention);
        runtime.limit_creations(config.limits.creations_per_second);
        let was_open = keyring.is_open();
        keyring.replace_jwt(jwt).await;
        if keyring.is_open() && !was_open {
            tracing::warn!("server opened: no keys exist, and [auth.jwt] is not set");
        }
        self.app.lifecycle_apis.set(lifecycle_apis);
        self.app.webhooks.set(config.webhooks.clone());
        self.app.memory.set_limit(config.limits.memory);
        self.app.store().limit_memory(self.app.memory.bytes_max());
        self.app.reconfigure(config.limits, config.settings.clone());
        configuration::record(&self.app).await;
        self.listener.set(listener);
        self.config = config.clone();
        Ok(reload)
    }
}
