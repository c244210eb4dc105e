//! Webhooks: added, disabled, enabled, replayed, removed, and the position of their deliveries. One node at a time sends; reports of any other node
//! are refused, so that positions advance only past delivered events.

use serde_json::{Value, json};

use crate::automation::{Automation, AutomationKind};
use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::id::{Name, Position};
use crate::refusal::Refusal;
use crate::webhook::{NewWebhook, Webhook, WebhookChange};

/// The same id with the same URL and filter is a replay; the first secret stays.
pub(crate) fn add(context: &mut DecisionContext<'_>, by: &CommandOrigin, new: &NewWebhook) -> CommandResult {
    if let Ok(known) = find(context, &new.id) {
        if known.url != new.url || known.filter != new.filter {
            return Err(Refusal::invalid("#/id", "there is another webhook with this id"));
        }
        return Ok(CommandOutput::automation(known, true));
    }
    let NewWebhook { id, url, secret, filter, position } = new.clone();
    let webhook = Webhook {
        id,
        url,
        secret,
        filter,
        created_at: context.now.at,
        created_by: by.actor.clone(),
        position,
        failures: 0,
        holder: None,
        due_at: Some(context.now.at),
        disabled_at: None,
        last_status: None,
        last_error: None,
    };
    context.audit(by, "webhook_create", &new.id, &ValueChange::new(Value::Null, values(&webhook)));
    Ok(context.put_automation(webhook))
}

pub(crate) fn change(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    id: &Name,
    change: &WebhookChange,
) -> CommandResult {
    let mut webhook = find(context, id)?;
    let (now, before) = (context.now.at, values(&webhook));
    match change.clone() {
        WebhookChange::Remove => {
            context.set.remove_automation(&(AutomationKind::Webhook, id.clone()));
            context.audit(by, "webhook_remove", id, &ValueChange::new(before, Value::Null));
            return Ok(CommandOutput::automation(webhook, false));
        }
        WebhookChange::Enable => {
            if webhook.disabled_at.is_none() {
                return Ok(CommandOutput::automation(webhook, true));
            }
            (webhook.disabled_at, webhook.failures, webhook.due_at) = (None, 0, Some(now));
            context.audit(by, "webhook_enable", id, &ValueChange::new(before, values(&webhook)));
        }
        WebhookChange::Disable => {
            if webhook.disabled_at.is_some() {
                return Ok(CommandOutput::automation(webhook, true));
            }
            (webhook.disabled_at, webhook.holder, webhook.due_at) = (Some(now), None, None);
            context.audit(by, "webhook_disable", id, &ValueChange::new(before, values(&webhook)));
        }
        WebhookChange::Replay(position) => webhook = replayed(context, by, webhook, position)?,
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
            webhook.last_error = Some(Automation::clipped(&error));
            webhook.holder = None;
            webhook.due_at = retry_in.map(|span| now + span);
            if retry_in.is_none() {
                webhook.disabled_at = Some(now);
                context.audit(by, "webhook_disable", id, &ValueChange::new(before, values(&webhook)));
            }
        }
    }
    Ok(context.put_automation(webhook))
}

/// With an earlier position, and no sender. A disabled webhook stays disabled.
fn replayed(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    webhook: Webhook,
    position: Position,
) -> Result<Webhook, Refusal> {
    if position >= webhook.position {
        return Err(Refusal::invalid("#/after", "is not before the webhook's position"));
    }
    let value = |position: Position| json!({ "position": position });
    let change = ValueChange::new(value(webhook.position), value(position));
    context.audit(by, "webhook_replay", &webhook.id, &change);
    let due_at = webhook.due_at.map(|_| context.now.at);
    Ok(Webhook { position, failures: 0, holder: None, due_at, ..webhook })
}

/// Refuses reports of a node that is not the present sender.
fn held(webhook: Webhook, holder: &Name) -> Result<Webhook, Refusal> {
    if webhook.holder.as_ref() == Some(holder) { Ok(webhook) } else { Err(lost()) }
}

fn lost() -> Refusal {
    Refusal::invalid("#/holder", "another node sends for this webhook")
}

pub(crate) fn find(context: &DecisionContext<'_>, id: &Name) -> Result<Webhook, Refusal> {
    match context.set.automations.get(&(AutomationKind::Webhook, id.clone())) {
        Some(Automation::Webhook(webhook)) => Ok(webhook.clone()),
        _ => Err(Refusal::NotFound { what: "webhook", name: id.to_string() }),
    }
}

/// A webhook in the audit log, without its secret.
fn values(webhook: &Webhook) -> Value {
    let Webhook { url, disabled_at, last_error, .. } = webhook;
    json!({ "url": url, "disabled_at": disabled_at, "last_error": last_error })
}
