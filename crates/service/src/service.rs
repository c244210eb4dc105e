//! [`Service`]: the runtime and what else handlers of the API, sockets and pages need. Cheap to clone.

use std::sync::Arc;

use tenure_config::{Limits, Setting};
use tenure_core::api_key::Role;
use tenure_core::command::{Command, CommandEnvelope, IdempotencyKey};
use tenure_core::decide::CommandOutput;
use tenure_core::id::{JobId, Name};
use tenure_core::job::Job;
use tenure_core::query::JobFilter;
use tenure_runtime::Runtime;
use tenure_stats::{LEASES_MAX, Stats};
use tenure_store::{AnyStore, Store as _};
use tokio::sync::watch;

use crate::assets::Contents;
use crate::caller::Caller;
use crate::keyring::Keyring;
use crate::problem::{OVERLOADED, Problem};
use crate::worker_registry::{WorkerRegistry, workers_seen};

#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    parts: ServiceParts,
    worker_registry: WorkerRegistry,
    draining: watch::Sender<bool>,
}

pub struct ServiceParts {
    pub runtime: Runtime<AnyStore>,
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

    pub fn runtime(&self) -> &Runtime<AnyStore> {
        &self.0.parts.runtime
    }

    pub fn store(&self) -> &AnyStore {
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

    /// From now on: no new claims, and streams end.
    pub fn drain(&self) {
        self.0.draining.send_replace(true);
    }

    pub fn is_draining(&self) -> bool {
        *self.0.draining.borrow()
    }

    /// Resolves when the server drains.
    pub async fn drained(&self) {
        let mut draining = self.0.draining.subscribe();
        // The sender lives as long as we do.
        drop(draining.wait_for(|draining| *draining).await);
    }

    /// What is answered to those who would begin something while the server drains.
    pub fn draining() -> Problem {
        Problem::new(&OVERLOADED, "this node is stopping; ask again").retry_after(1)
    }

    pub fn refuse_if_draining(&self) -> Result<(), Problem> {
        if self.is_draining() { Err(Self::draining()) } else { Ok(()) }
    }

    /// Asks the runtime, in the caller's name.
    pub async fn submit(
        &self,
        caller: &Caller,
        key: Option<IdempotencyKey>,
        command: Command,
    ) -> Result<CommandOutput, Problem> {
        Ok(self.runtime().submit(CommandEnvelope { by: caller.actor(), key, command }).await??)
    }

    /// A state may be asked for by its old name.
    pub fn speak_canonical(&self, filter: &mut JobFilter) {
        let Some(asked) = filter.state.clone() else { return };
        let catalog = self.runtime().catalog();
        let named = |name: &Name| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
        let states = catalog.lifecycles().filter(|it| named(&it.name)).flat_map(|it| &it.states);
        let states: Vec<_> = states.collect();
        if states.iter().all(|state| state.name != asked) {
            let meant = states.into_iter().find(|state| state.alias.as_ref() == Some(&asked));
            filter.state = meant.map(|state| state.name.clone()).or(Some(asked));
        }
    }

    /// Whether a stream may go on: its caller is still admitted, and the server does not drain.
    pub async fn may_go_on(&self, caller: &Caller) -> bool {
        !self.is_draining() && self.keyring().still_admits(caller, self.runtime().now()).await
    }

    /// One job, if it is there and the caller may see it.
    pub async fn job(&self, caller: &Caller, id: JobId) -> Result<Arc<Job>, Problem> {
        let job = self.store().job(id).await?;
        let job = job.ok_or_else(|| Problem::not_found("job", id))?;
        if self.may_see(caller, &job).await? {
            return Ok(job);
        }
        Err(Problem::forbidden(format!("job {id} is not yours to see")))
    }

    pub async fn may_see(&self, caller: &Caller, job: &Job) -> Result<bool, Problem> {
        if caller.role == Role::Worker {
            return self.holds(caller, job.worker()).await;
        }
        Ok(caller.is_or_oversees(job.spec.user_id.as_ref()))
    }

    /// Whether a job's worker came with this caller's credential. The store says so, since it may have come to another
    /// node.
    pub async fn holds(&self, caller: &Caller, worker: Option<&WorkerId>) -> Result<bool, Problem> {
        let Some(worker) = worker else { return Ok(false) };
        let seen = self.store().worker(worker.clone()).await?;
        Ok(seen.is_some_and(|seen| seen.credential.as_ref() == Some(&caller.credential)))
    }

    /// Notes that a worker was heard. A new one is told to the store first: another node may be asked what it holds. A
    /// name under which another credential holds something is not given away.
    pub async fn touch_worker(&self, caller: &Caller, worker: &WorkerId) -> Result<(), Problem> {
        let now = self.runtime().now();
        if self.worker_registry().touch(worker, &caller.credential, now) {
            return Ok(());
        }
        if caller.role == Role::Worker {
            let seen = self.store().worker(worker.clone()).await?;
            let other =
                seen.and_then(|seen| seen.credential).filter(|credential| *credential != caller.credential);
            if other.is_some() && self.holds_something(worker).await? {
                return Err(Problem::forbidden(format!("another key holds jobs as worker {worker}")));
            }
            let news = workers_seen(vec![(worker.clone(), Some(caller.credential.clone()))]);
            self.runtime().submit(news).await??;
        }
        self.worker_registry().register(worker, &caller.credential, now);
        Ok(())
    }

    async fn holds_something(&self, worker: &WorkerId) -> Result<bool, Problem> {
        let leased = self.store().leased(LEASES_MAX).await?;
        Ok(leased.iter().any(|job| job.lease.as_ref().is_some_and(|lease| lease.worker == *worker)))
    }
}
