//! Delivers webhooks. Every node leases webhooks that no node is sending and runs one task for each, so that a slow
//! receiver delays no other.
//!
//! Events are delivered at least once, in the journal's order, each after a 2xx for the one before. The position of a
//! webhook is in the store; when a node dies, another continues from there once the lease has expired.

mod address;
mod sign;
mod target;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use serde::Serialize;
use serde_json::{Value, json};
use tenure_api::EventOf;
use tenure_config::WebhooksConfig;
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::webhook::{Webhook, WebhookChange};
use tenure_service::webhooks::matches;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

pub(crate) use sign::new_secret;
pub(crate) use target::TargetPolicy;

use target::Clients;

use crate::prelude::*;

/// How often webhooks without a sender are looked up.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Webhooks that one node sends at once. If more are due, they take turns.
const SENDING_MAX: usize = 256;
/// How long a webhook is sent before it lets another one be sent, if one is due and there is no room for it.
const TURN: Duration = Duration::from_secs(1);
/// How long a lease lasts without renewal.
const LEASE: Millis = Millis(15_000);
const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// A lease that was renewed longer ago than this is renewed before an event is sent.
const RENEW_BEFORE_SEND: Duration = Duration::from_secs(1);
/// Bytes of a response that are read; only its status counts.
const RESPONSE_BYTES_MAX: usize = 64 << 10;
/// The longest `Retry-After` that is honoured.
const RETRY_AFTER_MAX: Millis = Millis(24 * 3_600_000);

/// Shared by all tasks of a node.
struct WebhookSender {
    app: App,
    policy: TargetPolicy,
    /// With the settings under which they were created.
    clients: Mutex<(Arc<WebhooksConfig>, Arc<Clients>)>,
    /// Whether a webhook is due for which there is no room.
    is_crowded: AtomicBool,
}

/// Delivers webhooks until the server drains.
pub(crate) async fn deliver_all(app: App) {
    let policy = app.target_policy.clone();
    let clients = match Clients::new(&policy) {
        Ok(clients) => Mutex::new((app.webhooks.get(), Arc::new(clients))),
        Err(error) => return tracing::error!(%error, "webhook delivery disabled"),
    };
    let is_crowded = AtomicBool::new(false);
    let sender = Arc::new(WebhookSender { policy, clients, is_crowded, app: app.clone() });
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = app.drained() => break,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        while tasks.try_join_next().is_some() {}
        let room = SENDING_MAX - tasks.len();
        let Ok(due) = app.store().due_automations(AutomationKind::Webhook, room.max(1)).await else {
            continue;
        };
        sender.is_crowded.store(due.len() > room, Ordering::Relaxed);
        for automation in due.into_iter().take(room) {
            let Automation::Webhook(webhook) = automation else { continue };
            let sender = Arc::clone(&sender);
            tasks.spawn(async move { sender.send_while_leased(webhook.id).await });
        }
    }
    // Each releases its lease, so that another node continues at once.
    while tasks.join_next().await.is_some() {}
}

enum DeliveryOutcome {
    /// A 2xx.
    Delivered(u16),
    /// Retried, not before `not_before` if the receiver sent `Retry-After`.
    Failed { status: Option<u16>, error: String, not_before: Option<Millis> },
    /// The receiver answered 410 Gone.
    Gone,
}

/// This node's lease on one webhook.
struct WebhookLease<'s> {
    sender: &'s WebhookSender,
    /// Unique to this lease.
    holder: Name,
    webhook: Webhook,
    /// Every event up to here was delivered or does not match the filter.
    position: Position,
    renewed_at: Instant,
}

impl WebhookSender {
    async fn change(&self, id: &Name, change: WebhookChange) -> Option<Webhook> {
        let command = Command::ChangeWebhook { id: id.clone(), change };
        let envelope = CommandEnvelope { by: "webhooks".into(), key: None, command };
        match self.app.runtime().submit(envelope).await {
            Ok(Ok(CommandOutput::Automation { automation, .. })) => automation.into_webhook(),
            // Removed, leased by another node, or the store is unavailable: the next poll of any node continues.
            _ => None,
        }
    }

    /// Leases a webhook, and delivers until the lease ends.
    async fn send_while_leased(&self, id: Name) {
        let holder = Name::from(self.app.runtime().new_id().to_string());
        let take = WebhookChange::Take { holder: holder.clone(), span: LEASE };
        let Some(webhook) = self.change(&id, take).await else { return };
        let (position, renewed_at) = (webhook.position, Instant::now());
        let mut lease = WebhookLease { sender: self, holder, webhook, position, renewed_at };
        tokio::select! {
            () = lease.deliver_events() => {}
            // An event in flight is sent again by the next node: at least once.
            () = self.app.drained() => drop(lease.renew(Millis(0), None).await),
        }
    }

    /// The clients of the current settings: an open connection of earlier ones may lead to a target that is not allowed any
    /// more.
    fn clients(&self) -> Result<Arc<Clients>, String> {
        let settings = self.app.webhooks.get();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&clients.0, &settings) {
            *clients = (settings, Arc::new(Clients::new(&self.policy)?));
        }
        Ok(Arc::clone(&clients.1))
    }

    async fn post(&self, webhook: &Webhook, event: &JournalEntry) -> DeliveryOutcome {
        let failed = |status, error: String| DeliveryOutcome::Failed { status, error, not_before: None };
        let url = match Url::parse(&webhook.url) {
            Ok(url) if self.policy.still_admits(&url) => url,
            _ => return failed(None, "its address is not an allowed webhook target".to_owned()),
        };
        let clients = match self.clients() {
            Ok(clients) => clients,
            Err(error) => return failed(None, error),
        };
        let (id, body) = message(event);
        let seconds = self.app.runtime().now().0.div_euclid(1000);
        let request = clients.for_url(&url).post(url).header(CONTENT_TYPE, "application/json");
        let request = request.header("webhook-id", &id).header("webhook-timestamp", seconds);
        let signature = sign::signature(&webhook.secret, &id, seconds, &body);
        match request.header("webhook-signature", signature).body(body).send().await {
            Ok(response) => outcome(response).await,
            Err(error) => failed(None, reason(&error)),
        }
    }

    /// The delay after this many consecutive failures before this one; `None` disables the webhook. Up to a tenth of
    /// jitter spreads webhooks that failed together.
    fn retry_delay(&self, failures: u32) -> Option<Millis> {
        let settings = self.app.webhooks.get();
        let span = settings.retry.get(failures as usize)?;
        let jitter = self.app.runtime().new_id().seed() as u64 % 1000;
        Some(Millis(span.0 + span.0 * jitter / 10_000))
    }
}

impl WebhookLease<'_> {
    /// Delivers matching events until the lease or the turn ends.
    async fn deliver_events(&mut self) {
        let mut follower = self.sender.app.runtime().follow(self.position);
        let began = Instant::now();
        let sender = self.sender;
        let is_over = || began.elapsed() >= TURN && sender.is_crowded.load(Ordering::Relaxed);
        loop {
            let events = match timeout(TURN, follower.next()).await {
                Ok(Ok(events)) => events,
                Ok(Err(_)) => return,
                Err(_) => Vec::new(),
            };
            for event in events {
                if matches(&self.webhook.filter, &event) && !self.deliver(&event).await {
                    return;
                }
                self.position = event.position;
                if is_over() {
                    break;
                }
            }
            if is_over() {
                // Due now, after those that have waited longer.
                self.renew(Millis(0), None).await;
                return;
            }
            if self.renewed_at.elapsed() >= RENEW_INTERVAL && !self.renew(LEASE, None).await {
                return;
            }
        }
    }

    /// Stores the position and renews the lease. False if the lease is lost.
    async fn renew(&mut self, span: Millis, status: Option<u16>) -> bool {
        let (holder, position) = (self.holder.clone(), self.position);
        let renewed_at = Instant::now();
        let sent = WebhookChange::Sent { holder, span, position, status };
        let Some(webhook) = self.sender.change(&self.webhook.id, sent).await else { return false };
        (self.webhook, self.renewed_at) = (webhook, renewed_at);
        true
    }

    /// Delivers one event. False if the lease has ended.
    async fn deliver(&mut self, event: &JournalEntry) -> bool {
        if self.renewed_at.elapsed() >= RENEW_BEFORE_SEND && !self.renew(LEASE, None).await {
            return false;
        }
        let webhook = self.webhook.clone();
        let post = self.sender.post(&webhook, event);
        tokio::pin!(post);
        let outcome = loop {
            tokio::select! {
                outcome = &mut post => break outcome,
                () = tokio::time::sleep(RENEW_INTERVAL) => if !self.renew(LEASE, None).await {
                    return false;
                }
            }
        };
        self.sender.app.metrics.count_delivery(matches!(outcome, DeliveryOutcome::Delivered(_)));
        match outcome {
            DeliveryOutcome::Delivered(status) => {
                self.position = event.position;
                self.renew(LEASE, Some(status)).await
            }
            DeliveryOutcome::Gone => {
                self.fail(Some(410), "410 Gone: the webhook is disabled".to_owned(), None).await
            }
            DeliveryOutcome::Failed { status, error, not_before } => {
                let retry_in = self.sender.retry_delay(webhook.failures);
                let retry_in = retry_in.map(|span| span.max(not_before.unwrap_or_default()));
                let note = if retry_in.is_none() { "; disabled after too many failures" } else { "" };
                self.fail(status, format!("{error}{note}"), retry_in).await
            }
        }
    }

    /// Stores a failure, which ends the lease.
    async fn fail(&mut self, status: Option<u16>, error: String, retry_in: Option<Millis>) -> bool {
        tracing::warn!(webhook = %self.webhook.id, %error, "webhook delivery failed");
        let (holder, position) = (self.holder.clone(), self.position);
        let failed = WebhookChange::Failed { holder, position, status, error, retry_in };
        self.sender.change(&self.webhook.id, failed).await;
        false
    }
}

/// The body of a request.
#[derive(Serialize)]
struct WebhookMessage<'a> {
    r#type: &'a Name,
    timestamp: Timestamp,
    data: EventData<'a>,
}

#[derive(Serialize)]
struct EventData<'a> {
    #[serde(flatten)]
    event: EventOf<Borrowed<'a>>,
    job: Value,
}

/// The `webhook-id` of an event, and the body.
fn message(line: &JournalEntry) -> (String, String) {
    let event = wire::event(&line.event, line.correlation_id.as_str(), line.trace_id.as_str());
    let job = json!({
        "id": line.event.job_id,
        "type": line.job_type,
        "lifecycle": line.lifecycle,
        "queue": line.queue,
        "user_id": line.user_id,
    });
    let id = event.id.clone();
    let data = EventData { event, job };
    let message = WebhookMessage { r#type: &line.event.name, timestamp: line.event.ts, data };
    (id, Json::of(&message).as_str().to_owned())
}

/// Only a 2xx is a success; redirects are not followed.
async fn outcome(mut response: Response) -> DeliveryOutcome {
    let status = response.status();
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let not_before = seconds.map(|seconds: u64| Millis(seconds.saturating_mul(1000)).min(RETRY_AFTER_MAX));
    // Reading the response to its end allows reuse of the connection.
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read > RESPONSE_BYTES_MAX {
            break;
        }
    }
    if status.is_success() {
        return DeliveryOutcome::Delivered(status.as_u16());
    }
    if status == StatusCode::GONE {
        return DeliveryOutcome::Gone;
    }
    DeliveryOutcome::Failed { status: Some(status.as_u16()), error: status.to_string(), not_before }
}

/// The innermost cause of a failed request, without the URL.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no response within {} s", target::SEND_TIMEOUT.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
