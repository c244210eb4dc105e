//! Webhooks: made, listed, enabled again, removed. Their secret is shown once, in the answer that makes it.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use tenure_core::command::Command;
use tenure_core::id::Name;
use tenure_core::order::OrderKind;
use tenure_core::webhook::{EventFilter, NewWebhook, WebhookChange};
use tenure_core::wire;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::{Body, Object, OptionalBody};
use crate::caller::{Caller, Right};
use crate::http::jobs::EmptyBody;
use crate::http::orders::{self, order_of};
use crate::http::{Named, Reply, name, ok, page};
use crate::problem::Problem;
use crate::query::Given;
use crate::webhooks::new_secret;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookBody {
    id: Option<String>,
    url: String,
    filter: Option<Object<FilterBody>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterBody {
    #[serde(rename = "type")]
    job_type: Option<String>,
    lifecycle: Option<String>,
    event: Option<String>,
    user_id: Option<String>,
}

impl FilterBody {
    fn read(self) -> Result<EventFilter, Problem> {
        Ok(EventFilter {
            job_type: name("#/filter/type", self.job_type)?,
            lifecycle: name("#/filter/lifecycle", self.lifecycle)?,
            event: name("#/filter/event", self.event)?,
            user_id: name("#/filter/user_id", self.user_id)?,
        })
    }
}

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    given: Given,
    body: Body<WebhookBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    let (key, body) = (body.key, body.value);
    let id = orders::id_of(body.id, key.as_ref())?;
    let filter = body.filter.map(|Object(filter)| filter.read()).transpose()?.unwrap_or_default();
    let url = app.policy().check(&body.url).await?.to_string();
    let (secret, position) = (new_secret(), app.store().tail().await?);
    let new = NewWebhook { id: id.clone(), url, secret: secret.clone(), filter, position };
    let done = match app.submit(&caller, None, Command::AddWebhook(Box::new(new))).await {
        Ok(done) => done,
        Err(problem) => return Err(orders::refused(&app, &(OrderKind::Webhook, id), key, problem).await),
    };
    let (order, replayed) = order_of(done);
    let mut shown = wire::order(&order);
    if !replayed {
        shown["secret"] = json!(secret.0);
    }
    Ok(orders::made(&shown, format!("/api/webhooks/{id}"), replayed))
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    let known = app.store().orders(OrderKind::Webhook).await?;
    page("webhooks", known.iter().map(wire::order).collect::<Vec<Value>>(), None)
}

pub(crate) async fn get(State(app): State<App>, caller: Caller, Named(id): Named, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    ok(&wire::order(&orders::find(&app, &(OrderKind::Webhook, id)).await?))
}

pub(crate) async fn remove(State(app): State<App>, caller: Caller, Named(id): Named, given: Given) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    change(&app, &caller, id, WebhookChange::Remove).await
}

pub(crate) async fn enable(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named,
    given: Given,
    _: OptionalBody<EmptyBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    change(&app, &caller, id, WebhookChange::Enable).await
}

async fn change(app: &App, caller: &Caller, id: Name, change: WebhookChange) -> Reply {
    let done = app.submit(caller, None, Command::ChangeWebhook(id, change)).await?;
    ok(&wire::order(&order_of(done).0))
}
