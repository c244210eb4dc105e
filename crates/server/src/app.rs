//! [`App`]: the service, and what only the server has. Cheap to clone.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use tenure_config::WebhooksConfig;
use tenure_service::Service;

use crate::event_broadcast::EventBroadcast;
use crate::lifecycle_api::LifecycleApis;
use crate::metrics::Metrics;
use crate::socket::hub::Hub;
use crate::webhooks::TargetPolicy;

#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    service: Service,
    parts: AppParts,
    event_broadcast: EventBroadcast,
    target_policy: TargetPolicy,
}

pub(crate) struct AppParts {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) lifecycle_apis: LifecycleApis,
    pub(crate) webhooks: WebhooksConfig,
}

impl App {
    pub(crate) fn new(service: Service, parts: AppParts) -> Self {
        let keyring = Arc::clone(service.keyring());
        let allow = parts.webhooks.allow.clone().into();
        let event_broadcast = EventBroadcast::new(service.runtime().clone());
        let target_policy = TargetPolicy { allow, is_open: Arc::new(move || keyring.is_open()) };
        Self(Arc::new(Inner { service, parts, event_broadcast, target_policy }))
    }

    pub(crate) fn event_broadcast(&self) -> &EventBroadcast {
        &self.0.event_broadcast
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.parts.metrics
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.0.parts.hub
    }

    pub(crate) fn lifecycle_apis(&self) -> &LifecycleApis {
        &self.0.parts.lifecycle_apis
    }

    pub(crate) fn webhooks(&self) -> &WebhooksConfig {
        &self.0.parts.webhooks
    }

    /// Where webhooks may be sent.
    pub(crate) fn target_policy(&self) -> &TargetPolicy {
        &self.0.target_policy
    }
}

impl Deref for App {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.0.service
    }
}

impl FromRef<App> for Service {
    fn from_ref(app: &App) -> Self {
        app.0.service.clone()
    }
}
