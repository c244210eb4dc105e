//! Lifecycles: registered in the store, at start and when the definitions are replaced, and loaded from it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::catalog::{ActiveDefinitions, Definitions};
use crate::flow::CompiledFlow;
use crate::prelude::*;
use crate::{Inner, StartError};

/// The shortest pause between two reloads of lifecycles that jobs follow and this node lacks.
const RELOAD_PAUSE: Duration = Duration::from_secs(1);

impl Inner {
    /// Registers our lifecycles in the store and loads the store's older ones.
    pub(crate) async fn register(&self) -> Result<(), StartError> {
        let definitions = self.definitions();
        self.register_lifecycles(&definitions).await?;
        self.declare_flow(&definitions.flow).await?;
        self.reload().await?;
        self.warn_of_newer_versions(&definitions);
        Ok(())
    }

    /// Replaces the definitions, after checking all of them.
    pub(crate) async fn redefine(&self, definitions: Definitions) -> Result<(), StartError> {
        let stored = self.store.lifecycles().await?;
        for own in &definitions.lifecycles {
            let key = LifecycleRef { name: own.name.clone(), version: own.version };
            if stored.iter().any(|(known, source)| *known == key && *source != own.source) {
                return Err(StartError::Definition(Refusal::LifecycleChanged(key).to_string()));
            }
        }
        ActiveDefinitions::compile(&definitions, parse(stored)).map_err(StartError::Definition)?;
        CompiledFlow::compile(&definitions.flow).map_err(StartError::Definition)?;
        // The definitions are not locked meanwhile: the batch with a registration may reload lifecycles.
        self.register_lifecycles(&definitions).await?;
        let _activating = self.activating.lock().await;
        self.activate(&definitions).await?;
        self.declare_flow(&definitions.flow).await?;
        self.warn_of_newer_versions(&definitions);
        *self.definitions.write().expect("no thread panics while holding the lock") = Arc::new(definitions);
        // Claims that found nothing to claim look again.
        self.waiting.poll_by(Instant::now());
        Ok(())
    }

    fn definitions(&self) -> Arc<Definitions> {
        Arc::clone(&self.definitions.read().expect("no thread panics while holding the lock"))
    }

    async fn register_lifecycles(&self, definitions: &Definitions) -> Result<(), StartError> {
        let is_update = !self.store.lifecycles().await?.is_empty();
        for lifecycle in &definitions.lifecycles {
            let key = LifecycleRef { name: lifecycle.name.clone(), version: lifecycle.version };
            let source = lifecycle.source.clone();
            let command = Command::RegisterLifecycle { lifecycle: key, source, is_update };
            let by = CommandOrigin::from("runtime");
            match self.submit_once(CommandEnvelope { by, key: None, command }).await {
                Ok(Ok(CommandOutput::Nothing | CommandOutput::Job { .. })) => {}
                Ok(Ok(_)) => unreachable!("a registration has nothing else to tell"),
                Ok(Err(refusal)) => return Err(StartError::Definition(refusal.to_string())),
                Err(failure) => return Err(StartError::Register(failure)),
            }
        }
        Ok(())
    }

    fn warn_of_newer_versions(&self, definitions: &Definitions) {
        let active = self.active();
        for own in &definitions.lifecycles {
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
        let _activating = self.activating.lock().await;
        self.activate(&self.definitions()).await
    }

    async fn activate(&self, definitions: &Definitions) -> Result<(), StartError> {
        let older = parse(self.store.lifecycles().await?);
        let compiled = ActiveDefinitions::compile(definitions, older).map_err(StartError::Definition)?;
        *self.active.write().expect("no thread panics while holding the lock") = Arc::new(compiled);
        Ok(())
    }
}

/// The stored lifecycles that pass their check.
fn parse(stored: Vec<(LifecycleRef, String)>) -> Vec<Lifecycle> {
    let parse = |(key, source): (LifecycleRef, String)| {
        let parsed = Lifecycle::parse(&source).ok();
        if parsed.is_none() {
            tracing::error!(name = %key.name, version = key.version, "stored lifecycle fails its check");
        }
        parsed
    };
    stored.into_iter().filter_map(parse).collect()
}
