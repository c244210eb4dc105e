//! Webhooks: added, removed, and how far their deliveries are. One node at a time sends; what one says that has lost its
//! turn is refused, so that positions only grow by what was sent.

use crate::decide::operate::audit;
use crate::decide::{Answer, Done, Scene};
use crate::id::{Actor, Name};
use crate::order::{Order, OrderKind};
use crate::refusal::Refusal;
use crate::webhook::{NewWebhook, Webhook, WebhookChange};

/// A new webhook. The same name for the same URL and events again is a repeat; the first one's secret stays.
pub(crate) fn add(scene: &mut Scene<'_>, by: &Actor, new: &NewWebhook) -> Answer {
    if let Ok(known) = find(scene, &new.id) {
        if known.url != new.url || known.filter != new.filter {
            return Err(Refusal::invalid("#/id", "there is another webhook with this id"));
        }
        return Ok(Done::order(known, true));
    }
    let NewWebhook { id, url, secret, filter, position } = new.clone();
    let webhook = Webhook {
        id,
        url,
        secret,
        filter,
        created_at: scene.now.at,
        created_by: by.clone(),
        position,
        failures: 0,
        holder: None,
        due_at: Some(scene.now.at),
        disabled_at: None,
        last_status: None,
        last_error: None,
    };
    audit(scene, by, "webhook_create", (None, Some(new.id.as_str())));
    Ok(scene.put_order(webhook))
}

/// What happens to a webhook.
pub(crate) fn change(scene: &mut Scene<'_>, by: &Actor, (id, change): (&Name, &WebhookChange)) -> Answer {
    let mut webhook = find(scene, id)?;
    let now = scene.now.at;
    match change.clone() {
        WebhookChange::Remove => {
            scene.set.remove_order(&(OrderKind::Webhook, id.clone()));
            audit(scene, by, "webhook_remove", (None, Some(id.as_str())));
            return Ok(Done::order(webhook, false));
        }
        WebhookChange::Enable => {
            if webhook.disabled_at.is_none() {
                return Ok(Done::order(webhook, true));
            }
            (webhook.disabled_at, webhook.failures, webhook.due_at) = (None, 0, Some(now));
            audit(scene, by, "webhook_enable", (None, Some(id.as_str())));
        }
        WebhookChange::Take { holder, span } => {
            let is_free = webhook.due_at.is_some_and(|at| at <= now);
            if !is_free {
                return Err(lost());
            }
            (webhook.holder, webhook.due_at) = (Some(holder), Some(now + span));
        }
        WebhookChange::Sent { holder, span, position, status } => {
            webhook = held(webhook, &holder)?;
            webhook.position = webhook.position.max(position);
            webhook.due_at = Some(now + span);
            if status.is_some() {
                (webhook.failures, webhook.last_status, webhook.last_error) = (0, status, None);
            }
        }
        WebhookChange::Failed { holder, position, status, error, retry_in } => {
            webhook = held(webhook, &holder)?;
            webhook.position = webhook.position.max(position);
            webhook.failures += 1;
            webhook.last_status = status;
            webhook.last_error = Some(Order::clipped(&error));
            webhook.holder = None;
            webhook.due_at = retry_in.map(|span| now + span);
            if retry_in.is_none() {
                webhook.disabled_at = Some(now);
                audit(scene, by, "webhook_disable", (None, Some(id.as_str())));
            }
        }
    }
    Ok(scene.put_order(webhook))
}

/// Only the node whose turn it is, as long as it is.
fn held(webhook: Webhook, holder: &Name) -> Result<Webhook, Refusal> {
    if webhook.holder.as_ref() == Some(holder) { Ok(webhook) } else { Err(lost()) }
}

fn lost() -> Refusal {
    Refusal::invalid("#/holder", "another node sends for this webhook")
}

fn find(scene: &Scene<'_>, id: &Name) -> Result<Webhook, Refusal> {
    match scene.set.orders.get(&(OrderKind::Webhook, id.clone())) {
        Some(Order::Webhook(webhook)) => Ok(webhook.clone()),
        _ => Err(Refusal::NotFound { what: "webhook", name: id.to_string() }),
    }
}
