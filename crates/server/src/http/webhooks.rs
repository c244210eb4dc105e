//! Webhooks: create, list, enable, disable, replay, delete. The answer to a creation shows the secret once.

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::id::Position;
use tenure_core::webhook::{EventFilter, NewWebhook, WebhookChange};

use tenure_service::webhooks;

use crate::http::automations::{added, automation_of, created, find, new_id};
use crate::http::prelude::*;
use crate::webhooks::new_secret;

fn event_filter(filter: request::NewWebhookFilter) -> Result<EventFilter> {
    Ok(EventFilter {
        job_type: name("#/filter/type", filter.job_type)?,
        lifecycle: name("#/filter/lifecycle", filter.lifecycle)?,
        event: name("#/filter/event", filter.event)?,
        user_id: name("#/filter/user_id", filter.user_id)?,
    })
}

pub(crate) async fn create(call: CallContext, body: Body<request::NewWebhook>) -> Reply {
    let (key, body) = (body.key, body.value);
    let id = new_id(body.id, key.as_ref())?;
    let filter = body.filter.map(event_filter).transpose()?.unwrap_or_default();
    let url = call.target_policy.check(&body.url).await?.to_string();
    let (secret, position) = (new_secret(), call.store().journal_end().await?);
    let new = NewWebhook { id: id.clone(), url, secret: secret.clone(), filter, position };
    let output = call.submit(None, Command::AddWebhook(Box::new(new))).await;
    let id = (AutomationKind::Webhook, id);
    let (automation, replayed) = added(&call, &id, key, output).await?;
    let secret = (!replayed).then_some(secret.0);
    let webhook = tenure_api::Webhook { secret, ..shown(automation) };
    Ok(created(&webhook, CallId::GetWebhook, &id.1, replayed))
}

fn shown(automation: Automation) -> tenure_api::Webhook {
    wire::webhook(&automation.into_webhook().expect("an automation of this kind is a webhook"))
}

pub(crate) async fn list(State(app): State<App>) -> Reply {
    let known = app.store().automations(AutomationKind::Webhook).await?;
    page(CallId::ListWebhooks, known.into_iter().map(shown).collect(), None)
}

pub(crate) async fn get(State(app): State<App>, Named(id): Named<Name>) -> Reply {
    ok(&shown(find(&app, &(AutomationKind::Webhook, id)).await?))
}

pub(crate) async fn remove(call: CallContext, Named(id): Named<Name>) -> Reply {
    change(&call, None, id, WebhookChange::Remove).await
}

pub(crate) async fn enable(call: CallContext, Named(id): Named<Name>, body: EmptyBody) -> Reply {
    change(&call, body.key, id, WebhookChange::Enable).await
}

pub(crate) async fn disable(call: CallContext, Named(id): Named<Name>, body: EmptyBody) -> Reply {
    change(&call, body.key, id, WebhookChange::Disable).await
}

pub(crate) async fn replay(
    call: CallContext,
    Named(id): Named<Name>,
    body: Body<request::WebhookReplay>,
) -> Reply {
    let position = match (body.value.after, span("#/since", body.value.since)?) {
        (Some(after), None) => Position(after),
        (None, Some(since)) => {
            let at = Timestamp(call.runtime().now().0.saturating_sub_unsigned(since.0));
            webhooks::position_at(&call, at).await?
        }
        _ => return Err(Problem::malformed("#", "needs one of after and since")),
    };
    change(&call, body.key, id, WebhookChange::Replay(position)).await
}

async fn change(call: &CallContext, key: Option<IdempotencyKey>, id: Name, change: WebhookChange) -> Reply {
    let output = call.submit(key, Command::ChangeWebhook { id, change }).await?;
    ok(&shown(automation_of(output).0))
}
