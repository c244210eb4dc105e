//! [`Service`]: the runtime and what else handlers of the API, sockets and pages need. Cheap to clone.

use tenure_config::{Limits, Setting};
use tenure_core::command::WorkerSighting;
use tenure_core::decide::CommandOutput;
use tenure_runtime::Runtime;
use tenure_stats::Stats;
use tenure_store::Store;
use tokio::sync::{Mutex, MutexGuard, watch};

use crate::assets::Contents;
use crate::keyring::{Admission, Keyring};
use crate::prelude::*;
use crate::reloadable::Reloadable;
use crate::time_machine::TimeMachine;
use crate::worker_registry::{WorkerRegistry, workers_seen};
use crate::workers::LeasedJobs;

#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    parts: ServiceParts,
    worker_registry: WorkerRegistry,
    draining: watch::Sender<bool>,
    replay_turn: Mutex<()>,
    time_machine: TimeMachine,
    leased_jobs: LeasedJobs,
}

pub struct ServiceParts {
    pub runtime: Runtime,
    pub keyring: Arc<Keyring>,
    pub stats: Stats,
    pub limits: Reloadable<Limits>,
    /// Storage for asset contents, if there is one.
    pub contents: Option<Contents>,
    /// Every configured value and its source.
    pub settings: Reloadable<Vec<Setting>>,
}

impl Service {
    pub fn new(parts: ServiceParts) -> Self {
        let (worker_registry, draining) = (WorkerRegistry::default(), watch::Sender::new(false));
        let (replay_turn, time_machine) = (Mutex::default(), TimeMachine::default());
        let leased_jobs = LeasedJobs::default();
        Self(Arc::new(Inner { parts, worker_registry, draining, replay_turn, time_machine, leased_jobs }))
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

    pub(crate) fn time_machine(&self) -> &TimeMachine {
        &self.0.time_machine
    }

    pub(crate) fn leased_jobs(&self) -> &LeasedJobs {
        &self.0.leased_jobs
    }

    /// Waits until no other request reads histories or the journal at length.
    pub(crate) async fn replay_turn(&self) -> MutexGuard<'_, ()> {
        self.0.replay_turn.lock().await
    }

    pub fn worker_registry(&self) -> &WorkerRegistry {
        &self.0.worker_registry
    }

    pub fn stats(&self) -> &Stats {
        &self.0.parts.stats
    }

    pub fn limits(&self) -> Limits {
        *self.0.parts.limits.get()
    }

    pub fn contents(&self) -> Option<&Contents> {
        self.0.parts.contents.as_ref()
    }

    pub fn settings(&self) -> Arc<Vec<Setting>> {
        self.0.parts.settings.get()
    }

    /// Applies limits and settings of a configuration that was loaded again.
    pub fn reconfigure(&self, limits: Limits, settings: Vec<Setting>) {
        self.0.parts.limits.set(limits);
        self.0.parts.settings.set(settings);
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
        Ok(self.runtime().submit(CommandEnvelope { by: caller.origin(), key, command }).await??)
    }

    /// Replaces an alias of a state in a filter by the state's name.
    pub fn resolve_state_alias(&self, filter: &mut JobFilter) {
        let lifecycle = filter.lifecycle.as_ref();
        let meant = filter.state.as_ref().and_then(|asked| self.state_with_alias(asked.as_str(), lifecycle));
        filter.state = meant.or(filter.state.take());
    }

    /// The name of the state that has this alias in a lifecycle, or in any; `None` if it is the name of a state.
    pub(crate) fn state_with_alias(
        &self,
        asked: &str,
        lifecycle: Option<&LifecycleName>,
    ) -> Option<StateName> {
        let catalog = self.runtime().catalog();
        let named = |name: &LifecycleName| lifecycle.is_none_or(|lifecycle| lifecycle == name);
        let states = catalog.lifecycles().filter(|it| named(&it.name)).flat_map(|it| &it.states);
        let states: Vec<_> = states.collect();
        if states.iter().any(|state| state.name == asked) {
            return None;
        }
        let has_alias = |alias: &StateName| alias.as_str() == asked;
        let meant = states.into_iter().find(|state| state.alias.as_ref().is_some_and(has_alias));
        meant.map(|state| state.name.clone())
    }

    /// Whether a stream may continue: its caller is still authorised and the server is not draining. If that cannot be
    /// checked it ends, and its client continues after the last event at another node.
    pub async fn may_continue(&self, caller: &Caller) -> bool {
        !self.is_draining() && self.admission(caller).await == Admission::Valid
    }

    /// Whether an authenticated caller is still valid.
    pub async fn admission(&self, caller: &Caller) -> Admission {
        self.keyring().admission(caller, self.runtime().now()).await
    }

    /// Resolves when a stream or a wait of this caller must end: the server drains, or the caller is no longer valid.
    pub async fn must_end(&self, caller: &Caller) {
        tokio::select! {
            () = self.drained() => {}
            () = self.keyring().ended(caller, || self.runtime().now()) => {}
        }
    }

    /// Refuses a caller that was valid before, if it is not valid now.
    pub async fn check_admission(&self, caller: &Caller) -> Result<()> {
        match self.admission(caller).await {
            Admission::Valid => Ok(()),
            Admission::Ended => {
                Err(Problem::new(ProblemCode::Unauthenticated, "the key or token is no longer valid"))
            }
            Admission::Unknown => {
                Err(Problem::new(ProblemCode::StoreUnavailable, "the keys cannot be read now").retry_after(1))
            }
        }
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
        if !caller.has_in_scope(&job.spec) {
            return Ok(false);
        }
        if caller.sees_all_users() || caller.owns(job.spec.user_id.as_ref()) {
            return Ok(true);
        }
        if caller.has(Role::Worker) {
            self.holds(caller, job.lease_owner().as_ref()).await
        } else {
            Ok(false)
        }
    }

    /// One job that the caller may see and change: as its owner, or as an operator.
    pub async fn managed_job(&self, caller: &Caller, id: JobId) -> Result<Arc<Job>> {
        let job = self.job(caller, id).await?;
        if caller.manages_all_users() || caller.owns(job.spec.user_id.as_ref()) {
            return Ok(job);
        }
        Err(Problem::forbidden(format!("job {id} belongs to another user")))
    }

    /// Refuses a job that is out of the caller's scopes. Without scopes, nothing is read.
    pub async fn check_scope(&self, caller: &Caller, id: JobId) -> Result<()> {
        if !caller.scopes.limits_jobs() {
            return Ok(());
        }
        match self.store().job(id).await? {
            Some(job) if !caller.has_in_scope(&job.spec) => {
                Err(Problem::forbidden(format!("the scopes of this key do not include job {id}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses the copy of a job that is out of the caller's scopes. Without scopes, nothing is read.
    pub async fn check_copy(&self, caller: &Caller, id: JobId) -> Result<()> {
        if caller.scopes.is_empty() {
            return Ok(());
        }
        let job = self.store().job(id).await?;
        job.map_or(Ok(()), |job| caller.may_create_like(&job))
    }

    /// Whether a lease is bound to this caller's credential. A lease of an earlier version is bound to none: then the last
    /// credential counts that presented the worker's name.
    pub async fn holds(&self, caller: &Caller, owner: Option<&LeaseOwner>) -> Result<bool> {
        let Some(LeaseOwner { worker, credential }) = owner else { return Ok(false) };
        if let Some(credential) = credential {
            return Ok(*credential == caller.credential);
        }
        let seen = self.store().worker(worker.clone()).await?;
        Ok(seen.is_some_and(|seen| seen.credential.as_ref() == Some(&caller.credential)))
    }

    /// Registers that a worker was seen. Several credentials may use the same name, each for its own leases. Only where the
    /// name decides, since the worker holds leases of an earlier version, is it refused to another credential; for these a
    /// new worker is written to the store at once.
    pub async fn touch_worker(&self, caller: &Caller, worker: &WorkerId) -> Result<()> {
        if !caller.scopes.admits_worker(worker) {
            return Err(Problem::forbidden(format!("the scopes of this key do not include worker {worker}")));
        }
        let now = self.runtime().now();
        if self.worker_registry().touch(worker, &caller.credential, now) {
            return Ok(());
        }
        self.worker_registry().check_room(&caller.credential)?;
        if !caller.manages_all_users() {
            let seen = self.store().worker(worker.clone()).await?;
            let other =
                seen.and_then(|seen| seen.credential).filter(|credential| *credential != caller.credential);
            if other.is_some() && self.has_unbound_leases(worker).await? {
                return Err(Problem::forbidden(format!("another key holds jobs as worker {worker}")));
            }
            let credential = Some(caller.credential.clone());
            let sighting = WorkerSighting { worker: worker.clone(), credential };
            self.runtime().submit(workers_seen(vec![sighting])).await??;
        }
        self.worker_registry().register(worker, &caller.credential, now);
        Ok(())
    }

    /// Whether a worker holds a lease that is bound to no credential.
    async fn has_unbound_leases(&self, worker: &WorkerId) -> Result<bool> {
        let is_unbound = |job: &Arc<Job>| job.lease.as_ref().is_some_and(|lease| lease.credential.is_none());
        let mut pages = LeasePages::of(self.store(), worker.clone());
        while let Some(page) = pages.next().await? {
            if page.iter().any(is_unbound) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
