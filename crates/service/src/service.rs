//! [`Service`]: the runtime and what else handlers of the API, sockets and pages need. Cheap to clone.

use tenure_config::{Limits, Setting};
use tenure_core::command::WorkerSighting;
use tenure_core::decide::CommandOutput;
use tenure_runtime::Runtime;
use tenure_stats::Stats;
use tenure_store::Store;
use tokio::sync::watch;

use crate::assets::Contents;
use crate::keyring::Keyring;
use crate::prelude::*;
use crate::worker_registry::{WorkerRegistry, workers_seen};

#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    parts: ServiceParts,
    worker_registry: WorkerRegistry,
    draining: watch::Sender<bool>,
}

pub struct ServiceParts {
    pub runtime: Runtime,
    pub keyring: Arc<Keyring>,
    pub stats: Stats,
    pub limits: Limits,
    /// Storage for asset contents, if there is one.
    pub contents: Option<Contents>,
    /// Every configured value and its source.
    pub settings: Vec<Setting>,
}

impl Service {
    pub fn new(parts: ServiceParts) -> Self {
        let (worker_registry, draining) = (WorkerRegistry::default(), watch::Sender::new(false));
        Self(Arc::new(Inner { parts, worker_registry, draining }))
    }

    pub fn runtime(&self) -> &Runtime {
        &self.0.parts.runtime
    }

    pub fn store(&self) -> &Store {
        self.0.parts.runtime.store()
    }

    pub fn keyring(&self) -> &Arc<Keyring> {
        &self.0.parts.keyring
    }

    pub fn worker_registry(&self) -> &WorkerRegistry {
        &self.0.worker_registry
    }

    pub fn stats(&self) -> &Stats {
        &self.0.parts.stats
    }

    pub fn limits(&self) -> &Limits {
        &self.0.parts.limits
    }

    pub fn contents(&self) -> Option<&Contents> {
        self.0.parts.contents.as_ref()
    }

    pub fn settings(&self) -> &[Setting] {
        &self.0.parts.settings
    }

    /// Refuses new claims and ends streams from now on.
    pub fn drain(&self) {
        self.0.draining.send_replace(true);
    }

    pub fn is_draining(&self) -> bool {
        *self.0.draining.borrow()
    }

    /// Resolves when the server drains.
    pub async fn drained(&self) {
        let mut draining = self.0.draining.subscribe();
        // The sender lives as long as `self`.
        drop(draining.wait_for(|draining| *draining).await);
    }

    pub fn refuse_if_draining(&self) -> Result<()> {
        if !self.is_draining() {
            return Ok(());
        }
        Err(Problem::new(ProblemCode::Overloaded, "this node is stopping; try again").retry_after(1))
    }

    /// Submits a command as the caller.
    pub async fn submit(
        &self,
        caller: &Caller,
        key: Option<IdempotencyKey>,
        command: Command,
    ) -> Result<CommandOutput> {
        Ok(self.runtime().submit(CommandEnvelope { by: caller.actor(), key, command }).await??)
    }

    /// Replaces an alias of a state in a filter by the state's name.
    pub fn resolve_state_alias(&self, filter: &mut JobFilter) {
        let Some(asked) = filter.state.clone() else { return };
        let catalog = self.runtime().catalog();
        let named =
            |name: &LifecycleName| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
        let states = catalog.lifecycles().filter(|it| named(&it.name)).flat_map(|it| &it.states);
        let states: Vec<_> = states.collect();
        if states.iter().all(|state| state.name != asked) {
            let meant = states.into_iter().find(|state| state.alias.as_ref() == Some(&asked));
            filter.state = meant.map(|state| state.name.clone()).or(Some(asked));
        }
    }

    /// Whether a stream may continue: its caller is still authorised and the server is not draining.
    pub async fn may_continue(&self, caller: &Caller) -> bool {
        !self.is_draining() && self.keyring().still_admits(caller, self.runtime().now()).await
    }

    /// One job, if it exists and the caller may see it.
    pub async fn job(&self, caller: &Caller, id: JobId) -> Result<Arc<Job>> {
        let job = self.store().job(id).await?;
        let job = job.ok_or_else(|| Problem::not_found("job", id))?;
        if self.may_see(caller, &job).await? {
            return Ok(job);
        }
        Err(Problem::forbidden(format!("job {id} belongs to another user or worker")))
    }

    pub async fn may_see(&self, caller: &Caller, job: &Job) -> Result<bool> {
        if caller.role == Role::Worker {
            return self.holds(caller, job.worker()).await;
        }
        Ok(caller.has_access_to_user(job.spec.user_id.as_ref()))
    }

    /// Whether a job's worker presented this caller's credential, to this node or another.
    pub async fn holds(&self, caller: &Caller, worker: Option<&WorkerId>) -> Result<bool> {
        let Some(worker) = worker else { return Ok(false) };
        let seen = self.store().worker(worker.clone()).await?;
        Ok(seen.is_some_and(|seen| seen.credential.as_ref() == Some(&caller.credential)))
    }

    /// Registers that a worker was seen. A new worker is written to the store at once, since other nodes may be asked what
    /// it holds. Refuses a worker name under which another credential holds jobs.
    pub async fn touch_worker(&self, caller: &Caller, worker: &WorkerId) -> Result<()> {
        let now = self.runtime().now();
        if self.worker_registry().touch(worker, &caller.credential, now) {
            return Ok(());
        }
        if caller.role == Role::Worker {
            let seen = self.store().worker(worker.clone()).await?;
            let other =
                seen.and_then(|seen| seen.credential).filter(|credential| *credential != caller.credential);
            if other.is_some() && self.has_leases(worker).await? {
                return Err(Problem::forbidden(format!("another key holds jobs as worker {worker}")));
            }
            let credential = Some(caller.credential.clone());
            let sighting = WorkerSighting { worker: worker.clone(), credential };
            self.runtime().submit(workers_seen(vec![sighting])).await??;
        }
        self.worker_registry().register(worker, &caller.credential, now);
        Ok(())
    }

    async fn has_leases(&self, worker: &WorkerId) -> Result<bool> {
        Ok(!self.store().leased(Some(worker.clone()), None, 1).await?.is_empty())
    }
}
