//! Lifecycles: registered in the store at start, and loaded from it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::catalog::ActiveDefinitions;
use crate::prelude::*;
use crate::{Inner, StartError};

/// The shortest pause between two reloads of lifecycles that jobs follow and this node lacks.
const RELOAD_PAUSE: Duration = Duration::from_secs(1);

impl Inner {
    /// Registers our lifecycles in the store and loads the store's older ones.
    pub(crate) async fn register(&self) -> Result<(), StartError> {
        for lifecycle in &self.definitions.lifecycles {
            let key = LifecycleRef { name: lifecycle.name.clone(), version: lifecycle.version };
            let command = Command::RegisterLifecycle { lifecycle: key, source: lifecycle.source.clone() };
            let by = CommandOrigin::from("runtime");
            match self.submit_once(CommandEnvelope { by, key: None, command }).await {
                Ok(Ok(CommandOutput::Nothing | CommandOutput::Job { .. })) => {}
                Ok(Ok(_)) => unreachable!("a registration has nothing else to tell"),
                Ok(Err(refusal)) => return Err(StartError::Definition(refusal.to_string())),
                Err(failure) => return Err(StartError::Register(failure)),
            }
        }
        self.reload().await?;
        let active = self.active();
        for own in &self.definitions.lifecycles {
            let newest =
                active.catalog.newest(own.name.as_str()).map_or(own.version, |newest| newest.version);
            if newest > own.version {
                tracing::warn!(
                    name = %own.name,
                    file_version = own.version,
                    stored_version = newest,
                    "lifecycle file is older than the stored version, which new jobs follow",
                );
            }
        }
        Ok(())
    }

    /// Reloads the lifecycles because a job follows one that is not active: at most once in [`RELOAD_PAUSE`], since the store may
    /// lack it too. Returns whether it reloaded.
    pub(crate) async fn reload_missing(&self) -> bool {
        if !self.store.is_shared() {
            return false;
        }
        {
            let mut last = self.reloaded_at.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|at| at.elapsed() < RELOAD_PAUSE) {
                return false;
            }
            *last = Some(Instant::now());
        }
        if let Err(error) = self.reload().await {
            tracing::warn!(%error, "reload of lifecycles failed");
            return false;
        }
        // Claims that found none of these jobs claimable look again.
        self.waiting.poll_by(Instant::now());
        true
    }

    /// Recompiles the active definitions with every version in the store.
    pub(crate) async fn reload(&self) -> Result<(), StartError> {
        let mut older = Vec::new();
        for (key, source) in self.store.lifecycles().await? {
            if let Ok(lifecycle) = Lifecycle::parse(&source) {
                older.push(lifecycle);
            } else {
                tracing::error!(name = %key.name, version = key.version, "stored lifecycle fails its check");
            }
        }
        let compiled =
            ActiveDefinitions::compile(&self.definitions, older).map_err(StartError::Definition)?;
        *self.active.write().expect("no thread panics while holding the lock") = Arc::new(compiled);
        Ok(())
    }
}
