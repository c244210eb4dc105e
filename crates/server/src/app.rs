//! [`App`]: the service, and what only the server has. Cheap to clone. [`CallContext`]: the app and the caller of a call.

use std::collections::VecDeque;
use std::ops::Deref;

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use tenure_config::WebhooksConfig;
use tenure_service::Service;
use tenure_service::reloadable::Reloadable;

use crate::answer_cache::AnswerCache;
use crate::event_broadcast::EventBroadcast;
use crate::headers::ReturnPreference;
use crate::http::health::READINESS_AGE_MAX;
use crate::lifecycle_api::LifecycleApis;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::prelude::*;
use crate::socket::hub::Hub;
use crate::webhooks::TargetPolicy;

#[derive(Clone)]
pub(crate) struct App(Arc<AppParts>);

pub(crate) struct AppParts {
    pub(crate) service: Service,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) lifecycle_apis: Reloadable<LifecycleApis>,
    pub(crate) webhooks: Arc<Reloadable<WebhooksConfig>>,
    pub(crate) event_broadcast: EventBroadcast,
    /// Where webhooks may be sent.
    pub(crate) target_policy: TargetPolicy,
    pub(crate) memory: Arc<Memory>,
    /// Whether the store answers.
    pub(crate) readiness: AnswerCache<Result<()>>,
}

impl App {
    pub(crate) fn new(
        service: Service,
        metrics: Arc<Metrics>,
        hub: Arc<Hub>,
        lifecycle_apis: LifecycleApis,
        webhooks: WebhooksConfig,
        memory: Arc<Memory>,
    ) -> Self {
        let keyring = Arc::clone(service.keyring());
        let webhooks = Arc::new(Reloadable::from(webhooks));
        let event_broadcast = EventBroadcast::new(service.runtime().clone());
        let target_policy =
            TargetPolicy { settings: Arc::clone(&webhooks), is_open: Arc::new(move || keyring.is_open()) };
        Self(Arc::new(AppParts {
            service,
            metrics,
            hub,
            lifecycle_apis: lifecycle_apis.into(),
            webhooks,
            event_broadcast,
            target_policy,
            memory,
            readiness: AnswerCache::new(READINESS_AGE_MAX),
        }))
    }
}

impl Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl Deref for AppParts {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

impl FromRef<App> for Service {
    fn from_ref(app: &App) -> Self {
        app.service.clone()
    }
}

/// The app, and the authenticated caller of a call. Its methods act as the caller.
#[derive(Clone)]
pub(crate) struct CallContext {
    pub(crate) app: App,
    pub(crate) caller: Caller,
    pub(crate) preference: ReturnPreference,
}

/// A stream must end: its caller is no longer valid, or the server drains.
#[derive(Debug)]
pub(crate) struct StreamEnded;

impl CallContext {
    /// One job, if it exists and the caller may see it.
    pub(crate) async fn job(&self, id: JobId) -> Result<Arc<Job>> {
        self.app.job(&self.caller, id).await
    }

    /// One job, if it exists and the caller may change it.
    pub(crate) async fn managed_job(&self, id: JobId) -> Result<Arc<Job>> {
        self.app.managed_job(&self.caller, id).await
    }

    /// Refuses a job that is out of the caller's scopes.
    pub(crate) async fn check_scope(&self, id: JobId) -> Result<()> {
        self.app.check_scope(&self.caller, id).await
    }

    pub(crate) async fn submit(
        &self,
        key: Option<IdempotencyKey>,
        command: Command,
    ) -> Result<CommandOutput> {
        self.app.submit(&self.caller, key, command).await
    }

    pub(crate) async fn touch_worker(&self, worker: &WorkerId) -> Result<()> {
        self.app.touch_worker(&self.caller, worker).await
    }

    /// Resolves when a stream or a wait of this caller must end.
    pub(crate) async fn must_end(&self) {
        self.app.must_end(&self.caller).await;
    }

    pub(crate) async fn may_see(&self, job: &Job) -> Result<bool> {
        self.app.may_see(&self.caller, job).await
    }

    /// The next text that a stream of this caller sends, if one is ready. Checked before each: the credential may have ended
    /// since the texts were read.
    pub(crate) async fn next_ready(
        &self,
        ready: &mut VecDeque<String>,
    ) -> Result<Option<String>, StreamEnded> {
        if self.app.may_continue(&self.caller).await { Ok(ready.pop_front()) } else { Err(StreamEnded) }
    }
}

impl FromRequestParts<App> for CallContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let caller = Caller::from_request_parts(parts, app).await?;
        Ok(Self { app: app.clone(), caller, preference: ReturnPreference::of(&parts.headers) })
    }
}

impl Deref for CallContext {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}
