//! What every handler has at hand: the runtime, the keys, the workers, the metrics. Cheap to clone.

use std::sync::Arc;

use tenure_core::api_key::Role;
use tenure_core::command::{Asked, Command, GivenKey};
use tenure_core::decide::Done;
use tenure_core::id::{JobId, Name};
use tenure_core::job::Job;
use tenure_core::query::JobFilter;
use tenure_runtime::Runtime;
use tenure_store::{AnyStore, Store as _};
use tokio::sync::watch;

use crate::assets::Contents;
use crate::caller::Caller;
use crate::config::{Limits, Setting, WebhooksConfig};
use crate::crew::{Crew, seen_now};
use crate::door::Doors;
use crate::feed::Feed;
use crate::keyring::Keyring;
use crate::metrics::Metrics;
use crate::problem::{OVERLOADED, Problem};
use crate::pulse::Pulse;
use crate::socket::switchboard::Switchboard;
use crate::ui::{Inbox, Stage};
use crate::webhooks::Policy;

/// Leases that are looked at when a question is about all of them.
pub(crate) const LEASES_MAX: usize = 10_000;

#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    parts: Parts,
    crew: Crew,
    feed: Feed,
    policy: Policy,
    stage: Stage,
    inbox: Inbox,
    draining: watch::Sender<bool>,
}

/// What a server is made of.
pub(crate) struct Parts {
    pub(crate) runtime: Runtime<AnyStore>,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) pulse: Pulse,
    pub(crate) switchboard: Arc<Switchboard>,
    pub(crate) doors: Doors,
    pub(crate) limits: Limits,
    pub(crate) webhooks: WebhooksConfig,
    pub(crate) contents: Option<Contents>,
    pub(crate) settings: Vec<Setting>,
}

impl App {
    pub(crate) fn new(parts: Parts) -> Self {
        let keys = Arc::clone(&parts.keyring);
        let allow = parts.webhooks.allow.clone().into();
        Self(Arc::new(Inner {
            crew: Crew::default(),
            feed: Feed::new(parts.runtime.clone()),
            policy: Policy { allow, is_open: Arc::new(move || keys.is_open()) },
            stage: Stage::default(),
            inbox: Inbox::default(),
            draining: watch::Sender::new(false),
            parts,
        }))
    }

    pub(crate) fn runtime(&self) -> &Runtime<AnyStore> {
        &self.0.parts.runtime
    }

    pub(crate) fn store(&self) -> &AnyStore {
        self.0.parts.runtime.store()
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.0.parts.keyring
    }

    pub(crate) fn crew(&self) -> &Crew {
        &self.0.crew
    }

    pub(crate) fn feed(&self) -> &Feed {
        &self.0.feed
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.parts.metrics
    }

    /// Numbers for people.
    pub(crate) fn pulse(&self) -> &Pulse {
        &self.0.parts.pulse
    }

    pub(crate) fn switchboard(&self) -> &Arc<Switchboard> {
        &self.0.parts.switchboard
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.parts.limits
    }

    pub(crate) fn doors(&self) -> &Doors {
        &self.0.parts.doors
    }

    pub(crate) fn webhooks(&self) -> &WebhooksConfig {
        &self.0.parts.webhooks
    }

    /// Where webhooks may go.
    pub(crate) fn policy(&self) -> &Policy {
        &self.0.policy
    }

    /// Where the contents of assets are, if there is a place.
    pub(crate) fn contents(&self) -> Option<&Contents> {
        self.0.parts.contents.as_ref()
    }

    /// Every value of the configuration, and who said so.
    pub(crate) fn settings(&self) -> &[Setting] {
        &self.0.parts.settings
    }

    /// The pages that somebody looks at.
    pub(crate) fn stage(&self) -> &Stage {
        &self.0.stage
    }

    /// The groups of dead letters that somebody looked at.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.0.inbox
    }

    /// From now on: no new claims, and streams end.
    pub(crate) fn drain(&self) {
        self.0.draining.send_replace(true);
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.0.draining.borrow()
    }

    /// Resolves when the server drains.
    pub(crate) async fn drained(&self) {
        let mut draining = self.0.draining.subscribe();
        // The sender lives as long as we do.
        drop(draining.wait_for(|draining| *draining).await);
    }

    /// What is answered to those who would begin something while the server drains.
    pub(crate) fn draining() -> Problem {
        Problem::new(&OVERLOADED, "this node is stopping; ask again").retry_after(1)
    }

    pub(crate) fn refuse_if_draining(&self) -> Result<(), Problem> {
        if self.is_draining() { Err(Self::draining()) } else { Ok(()) }
    }

    /// Asks the runtime, in the caller's name.
    pub(crate) async fn submit(
        &self,
        caller: &Caller,
        key: Option<GivenKey>,
        command: Command,
    ) -> Result<Done, Problem> {
        Ok(self.runtime().submit(Asked { by: caller.actor(), key, command }).await??)
    }

    /// A state may be asked for by its old name.
    pub(crate) fn speak_canonical(&self, filter: &mut JobFilter) {
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
    pub(crate) async fn may_go_on(&self, caller: &Caller) -> bool {
        !self.is_draining() && self.keyring().still_admits(caller, self.runtime().now()).await
    }

    /// One job, if it is there and the caller may see it.
    pub(crate) async fn job(&self, caller: &Caller, id: JobId) -> Result<Arc<Job>, Problem> {
        let job = self.store().job(id).await?;
        let job = job.ok_or_else(|| Problem::not_found("job", id))?;
        if self.may_see(caller, &job).await? {
            return Ok(job);
        }
        Err(Problem::forbidden(format!("job {id} is not yours to see")))
    }

    pub(crate) async fn may_see(&self, caller: &Caller, job: &Job) -> Result<bool, Problem> {
        if caller.role == Role::Worker {
            return self.holds(caller, job.worker()).await;
        }
        Ok(caller.is_or_oversees(job.spec.user_id.as_ref()))
    }

    /// Whether a job's worker came with this caller's credential. The store says so, since it may have come to another
    /// node.
    pub(crate) async fn holds(&self, caller: &Caller, worker: Option<&Name>) -> Result<bool, Problem> {
        let Some(worker) = worker else { return Ok(false) };
        let seen = self.store().worker(worker.clone()).await?;
        Ok(seen.is_some_and(|seen| seen.credential.as_ref() == Some(&caller.credential)))
    }

    /// Notes that a worker was heard. A new one is told to the store first: another node may be asked what it holds. A
    /// name under which another credential holds something is not given away.
    pub(crate) async fn hear(&self, caller: &Caller, worker: &Name) -> Result<(), Problem> {
        let now = self.runtime().now();
        if self.crew().hear(worker, &caller.credential, now) {
            return Ok(());
        }
        if caller.role == Role::Worker {
            let seen = self.store().worker(worker.clone()).await?;
            let other =
                seen.and_then(|seen| seen.credential).filter(|credential| *credential != caller.credential);
            if other.is_some() && self.holds_something(worker).await? {
                return Err(Problem::forbidden(format!("another key holds jobs as worker {worker}")));
            }
            let news = seen_now(vec![(worker.clone(), Some(caller.credential.clone()))]);
            self.runtime().submit(news).await??;
        }
        self.crew().welcome(worker, &caller.credential, now);
        Ok(())
    }

    async fn holds_something(&self, worker: &Name) -> Result<bool, Problem> {
        let leased = self.store().leased(LEASES_MAX).await?;
        Ok(leased.iter().any(|job| job.lease.as_ref().is_some_and(|lease| lease.worker == *worker)))
    }
}
