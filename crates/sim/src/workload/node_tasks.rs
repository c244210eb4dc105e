//! Tasks of a node that the server has and the runtime has not: sending webhooks, by the protocol of the server's
//! `webhooks.rs` with a receiver in memory, and deleting garbage objects. They end when the node crashes.

use std::rc::Rc;
use std::time::Duration;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::webhook::{Webhook, WebhookChange};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, RunningNode};
use crate::prelude::*;
use crate::rng::Rng;

/// How long a webhook's lease lasts without renewal.
const LEASE: Millis = Millis::seconds(5);
const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// A lease that was renewed longer ago is renewed before an event is sent.
const RENEW_BEFORE_SEND: Duration = Duration::from_secs(1);
const WEBHOOK_POLL: Duration = Duration::from_millis(500);
const GARBAGE_POLL: Duration = Duration::from_secs(5);
/// Events in one read, and objects in one deletion.
const PAGE: usize = 50;

/// Sends a webhook whenever the node runs and no other node sends it.
pub(super) async fn send_webhook(cluster: Rc<Cluster>, mut rng: Rng, index: usize, webhook: &'static str) {
    loop {
        sleep(WEBHOOK_POLL).await;
        let Some(node) = cluster.nodes[index].running() else { continue };
        tokio::select! {
            biased;
            () = node.crash.wait() => {}
            () = send_if_due(&cluster, &node, &mut rng, webhook) => {}
        }
    }
}

async fn send_if_due(cluster: &Rc<Cluster>, node: &RunningNode, rng: &mut Rng, id: &str) {
    let due = node.runtime.store().due_automations(AutomationKind::Webhook, PAGE).await.unwrap_or_default();
    if !due.iter().any(|automation| automation.id().1 == id) {
        return;
    }
    let holder = Name::from(rng.next().to_string());
    let take = WebhookChange::Take { holder: holder.clone(), span: LEASE };
    if let Some(webhook) = change(node, id.into(), take).await {
        let (position, renewed_at) = (webhook.position, Instant::now());
        WebhookLease { cluster, node, webhook, holder, position, renewed_at }.deliver(rng).await;
    }
}

async fn change(node: &RunningNode, id: Name, change: WebhookChange) -> Option<Webhook> {
    let command = Command::ChangeWebhook { id, change };
    match node.runtime.submit(CommandEnvelope { by: "webhooks".into(), key: None, command }).await {
        Ok(Ok(CommandOutput::Automation { automation, .. })) => match *automation {
            Automation::Webhook(webhook) => Some(webhook),
            Automation::Schedule(_) | Automation::Erasure(_) => None,
        },
        _ => None,
    }
}

struct WebhookLease<'n> {
    cluster: &'n Rc<Cluster>,
    node: &'n RunningNode,
    webhook: Webhook,
    holder: Name,
    /// Every event up to here was delivered or does not match.
    position: Position,
    renewed_at: Instant,
}

impl WebhookLease<'_> {
    /// Sends events until the lease ends.
    async fn deliver(mut self, rng: &mut Rng) {
        loop {
            let Ok(events) = self.node.runtime.store().events(self.position, PAGE).await else { return };
            if events.is_empty() {
                sleep(WEBHOOK_POLL).await;
            }
            for event in events {
                if self.matches(&event) && !self.send(&event, rng).await {
                    return;
                }
                self.position = event.position;
            }
            if self.renewed_at.elapsed() >= RENEW_INTERVAL && !self.sent(LEASE, None).await {
                return;
            }
        }
    }

    fn matches(&self, event: &JournalEntry) -> bool {
        let filter = &self.webhook.filter;
        filter.job_type.as_ref().is_none_or(|wanted| *wanted == event.job_type)
            && filter.event.as_ref().is_none_or(|wanted| *wanted == event.event.name)
    }

    /// Stores the position and renews the lease. False if the lease is lost.
    async fn sent(&mut self, span: Millis, status: Option<u16>) -> bool {
        let sent = WebhookChange::Sent { holder: self.holder.clone(), span, position: self.position, status };
        self.renewed_at = Instant::now();
        change(self.node, self.webhook.id.clone(), sent).await.is_some()
    }

    /// Sends one event. False if the lease has ended.
    async fn send(&mut self, event: &JournalEntry, rng: &mut Rng) -> bool {
        if self.renewed_at.elapsed() >= RENEW_BEFORE_SEND && !self.sent(LEASE, None).await {
            return false;
        }
        sleep(Duration::from_millis(rng.between(1, 20))).await;
        let is_faulty = !self.cluster.faults_ended();
        if !(is_faulty && rng.percent(10)) {
            self.cluster.audit(|auditor| auditor.receive(&self.webhook, event.position));
            self.position = event.position;
            return self.sent(LEASE, Some(200)).await;
        }
        // Half of the failures are answers that were lost: the receiver has the event.
        if rng.percent(50) {
            self.cluster.audit(|auditor| auditor.receive(&self.webhook, event.position));
        }
        let retry_in = (!rng.percent(20)).then(|| Millis(rng.between(100, 3000)));
        let (holder, position, error) = (self.holder.clone(), self.position, "no answer".to_owned());
        let failed = WebhookChange::Failed { holder, position, status: None, error, retry_in };
        change(self.node, self.webhook.id.clone(), failed).await;
        false
    }
}

/// Deletes garbage objects whenever the node runs.
pub(super) async fn delete_garbage(cluster: Rc<Cluster>, index: usize) {
    loop {
        sleep(GARBAGE_POLL).await;
        let Some(node) = cluster.nodes[index].running() else { continue };
        tokio::select! {
            biased;
            () = node.crash.wait() => {}
            () = delete_due(&cluster, &node) => {}
        }
    }
}

async fn delete_due(cluster: &Rc<Cluster>, node: &RunningNode) {
    let due = node.runtime.store().asset_garbage(PAGE).await.unwrap_or_default();
    if due.is_empty() {
        return;
    }
    for path in &due {
        cluster.objects.borrow_mut().remove(path);
    }
    // The node may crash here: the objects are deleted again.
    sleep(Duration::from_millis(1)).await;
    let command = Command::ForgetGarbage(due);
    let envelope = CommandEnvelope { by: "runtime".into(), key: None, command };
    let _ = node.runtime.submit(envelope).await;
}
