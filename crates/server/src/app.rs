//! [`App`]: the service, and what only the server has. Cheap to clone. [`CallContext`]: the app and the caller of a call.

use std::ops::Deref;

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use tenure_config::WebhooksConfig;
use tenure_service::Service;

use crate::event_broadcast::EventBroadcast;
use crate::headers::ReturnPreference;
use crate::lifecycle_api::LifecycleApis;
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
    pub(crate) lifecycle_apis: LifecycleApis,
    pub(crate) webhooks: WebhooksConfig,
    pub(crate) event_broadcast: EventBroadcast,
    /// Where webhooks may be sent.
    pub(crate) target_policy: TargetPolicy,
}

impl App {
    pub(crate) fn new(
        service: Service,
        metrics: Arc<Metrics>,
        hub: Arc<Hub>,
        lifecycle_apis: LifecycleApis,
        webhooks: WebhooksConfig,
    ) -> Self {
        let keyring = Arc::clone(service.keyring());
        let allow = webhooks.allow.clone().into();
        let event_broadcast = EventBroadcast::new(service.runtime().clone());
        let target_policy = TargetPolicy { allow, is_open: Arc::new(move || keyring.is_open()) };
        let parts =
            AppParts { service, metrics, hub, lifecycle_apis, webhooks, event_broadcast, target_policy };
        Self(Arc::new(parts))
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

impl CallContext {
    /// One job, if it exists and the caller may see it.
    pub(crate) async fn job(&self, id: JobId) -> Result<Arc<Job>> {
        self.app.job(&self.caller, id).await
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

    /// Whether a stream of this caller may continue.
    pub(crate) async fn may_continue(&self) -> bool {
        self.app.may_continue(&self.caller).await
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
