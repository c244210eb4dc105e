//! Webhooks, sent. Every node looks for webhooks that nobody sends for, takes some, and sends for each in a task of its
//! own, so that a slow receiver holds up nobody else.
//!
//! Events go out in the journal's order, the next one after the last was taken (2xx): each at least once. How far a
//! webhook is stands in the store; a node that dies is followed by another when its turn has run out.

mod address;
mod sign;
mod target;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use serde::Serialize;
use serde_json::{Value, json};
use tenure_core::command::{Asked, Command};
use tenure_core::decide::Done;
use tenure_core::id::{Actor, Name, Position};
use tenure_core::json::Json;
use tenure_core::order::{Order, OrderKind};
use tenure_core::time::{Millis, Timestamp};
use tenure_core::webhook::{EventFilter, Webhook, WebhookChange};
use tenure_core::wire::EventForm;
use tenure_store::{Journaled, Store as _};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

pub use address::Block;
pub(crate) use sign::new_secret;
pub(crate) use target::Policy;

use crate::app::App;
use target::Clients;

/// How often webhooks that nobody sends for are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Webhooks that a node sends for at once; more wait for another node, or a rest.
const SENDING_MAX: usize = 256;
/// A node that says nothing for so long has lost its turn.
const TURN: Millis = Millis(15_000);
/// How often it says that it goes on.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// Before it sends, a node that has said nothing for so long makes sure that it is still its turn.
const SURE_FOR: Duration = Duration::from_secs(1);
/// What of a reply is read; only its status counts.
const REPLY_BYTES_MAX: usize = 64 << 10;
/// `Retry-After` is followed up to here.
const RETRY_AFTER_MAX: Millis = Millis(24 * 3_600_000);

/// What all tasks of a node share.
struct Sender {
    app: App,
    policy: Policy,
    clients: Clients,
    retry: Vec<Millis>,
}

/// Sends for webhooks until the server drains.
pub(crate) async fn keep_sending(app: App) {
    let policy = app.policy().clone();
    let clients = match Clients::new(&policy) {
        Ok(clients) => clients,
        Err(error) => return tracing::error!(%error, "no webhook is sent from this node"),
    };
    let retry = app.webhooks().retry.clone();
    let sender = Arc::new(Sender { policy, clients, retry, app: app.clone() });
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = app.drained() => break,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        while tasks.try_join_next().is_some() {}
        let room = SENDING_MAX - tasks.len();
        let Ok(due) = app.store().due_orders(OrderKind::Webhook, room).await else { continue };
        for order in due {
            let Order::Webhook(webhook) = order else { continue };
            let sender = Arc::clone(&sender);
            tasks.spawn(async move { sender.send_for(webhook.id).await });
        }
    }
    // Each gives its turn up, so that another node goes on at once.
    while tasks.join_next().await.is_some() {}
}

/// What came of a try.
enum Sent {
    /// A 2xx.
    Taken(u16),
    /// Try again, not before this if the receiver said so.
    Failed { status: Option<u16>, error: String, not_before: Option<Millis> },
    /// The receiver wants no more.
    Gone,
}

/// A turn of this node at one webhook.
struct Turn<'s> {
    sender: &'s Sender,
    /// Tells this turn from every other, of this node too.
    holder: Name,
    webhook: Webhook,
    /// Up to here everything was sent, or is not meant.
    position: Position,
    /// When the store was last told.
    told: Instant,
}

impl Sender {
    async fn change(&self, id: &Name, change: WebhookChange) -> Option<Webhook> {
        let command = Command::ChangeWebhook(id.clone(), change);
        let asked = Asked { by: Actor::from("webhooks"), key: None, command };
        match self.app.runtime().submit(asked).await {
            Ok(Ok(Done::Order { order, .. })) => match *order {
                Order::Webhook(webhook) => Some(webhook),
                Order::Schedule(_) => None,
            },
            // It was removed, it is another node's turn, or the store is away: whoever looks next goes on.
            _ => None,
        }
    }

    /// Takes a turn, and sends until it is over.
    async fn send_for(&self, id: Name) {
        let holder = Name::from(self.app.runtime().new_id().to_string());
        let take = WebhookChange::Take { holder: holder.clone(), span: TURN };
        let Some(webhook) = self.change(&id, take).await else { return };
        let (position, told) = (webhook.position, Instant::now());
        let mut turn = Turn { sender: self, holder, webhook, position, told };
        tokio::select! {
            () = turn.run() => {}
            // What is on its way is sent again by whoever comes next: at least once.
            () = self.app.drained() => drop(turn.tell(Millis(0), None).await),
        }
    }

    /// Posts one event.
    async fn post(&self, webhook: &Webhook, event: &Journaled) -> Sent {
        let failed = |status, error: String| Sent::Failed { status, error, not_before: None };
        let url = match Url::parse(&webhook.url) {
            Ok(url) if self.policy.still_admits(&url) => url,
            _ => return failed(None, "webhooks may not go to its address".to_owned()),
        };
        let (id, body) = message(event);
        let seconds = self.app.runtime().now().0.div_euclid(1000);
        let request = self.clients.of(&url).post(url).header(CONTENT_TYPE, "application/json");
        let request = request.header("webhook-id", &id).header("webhook-timestamp", seconds);
        let signature = sign::signature(&webhook.secret, &id, seconds, &body);
        match request.header("webhook-signature", signature).body(body).send().await {
            Ok(response) => judge(response).await,
            Err(error) => failed(None, reason(&error)),
        }
    }

    /// How long to wait after the so-many-th failure in a row; `None`: it has failed too often. A tenth of chance keeps
    /// those who failed together from coming together.
    fn patience(&self, failures: u32) -> Option<Millis> {
        let span = self.retry.get(failures as usize)?;
        let chance = self.app.runtime().new_id().seed() as u64 % 1000;
        Some(Millis(span.0 + span.0 * chance / 10_000))
    }
}

impl Turn<'_> {
    /// Sends what comes until the turn is over.
    async fn run(&mut self) {
        let mut follower = self.sender.app.runtime().follow(self.position);
        loop {
            match timeout(RENEW_EVERY, follower.next()).await {
                Ok(Ok(events)) => {
                    for event in events {
                        if meant(&self.webhook.filter, &event) && !self.deliver(&event).await {
                            return;
                        }
                        self.position = event.position;
                    }
                    if self.told.elapsed() >= RENEW_EVERY && !self.tell(TURN, None).await {
                        return;
                    }
                }
                Ok(Err(_)) => return,
                Err(_) => {
                    if !self.tell(TURN, None).await {
                        return;
                    }
                }
            }
        }
    }

    /// Tells the store how far it is; says whether it is still this node's turn.
    async fn tell(&mut self, span: Millis, status: Option<u16>) -> bool {
        let (holder, position) = (self.holder.clone(), self.position);
        let told = Instant::now();
        let sent = WebhookChange::Sent { holder, span, position, status };
        let Some(webhook) = self.sender.change(&self.webhook.id, sent).await else { return false };
        (self.webhook, self.told) = (webhook, told);
        true
    }

    /// Sends one event; says whether to go on.
    async fn deliver(&mut self, event: &Journaled) -> bool {
        if self.told.elapsed() >= SURE_FOR && !self.tell(TURN, None).await {
            return false;
        }
        let webhook = self.webhook.clone();
        let post = self.sender.post(&webhook, event);
        tokio::pin!(post);
        let sent = loop {
            tokio::select! {
                sent = &mut post => break sent,
                () = tokio::time::sleep(RENEW_EVERY) => if !self.tell(TURN, None).await {
                    return false;
                }
            }
        };
        match sent {
            Sent::Taken(status) => {
                self.position = event.position;
                self.tell(TURN, Some(status)).await
            }
            Sent::Gone => self.fail((Some(410), "410 Gone: it wants no more".to_owned()), None).await,
            Sent::Failed { status, error, not_before } => {
                let retry_in = self.sender.patience(webhook.failures);
                let retry_in = retry_in.map(|span| span.max(not_before.unwrap_or_default()));
                let words = if retry_in.is_none() { "; it has failed too often and is disabled" } else { "" };
                self.fail((status, format!("{error}{words}")), retry_in).await
            }
        }
    }

    /// Gives the turn up after a failure.
    async fn fail(&mut self, (status, error): (Option<u16>, String), retry_in: Option<Millis>) -> bool {
        tracing::warn!(webhook = %self.webhook.id, %error, "a webhook was not delivered");
        let (holder, position) = (self.holder.clone(), self.position);
        let failed = WebhookChange::Failed { holder, position, status, error, retry_in };
        self.sender.change(&self.webhook.id, failed).await;
        false
    }
}

/// Whether an event is one of those that a webhook is for.
fn meant(filter: &EventFilter, event: &Journaled) -> bool {
    let is = |wanted: &Option<Name>, found: &Name| wanted.as_ref().is_none_or(|wanted| wanted == found);
    is(&filter.job_type, &event.job_type)
        && is(&filter.lifecycle, &event.lifecycle)
        && is(&filter.event, &event.event.name)
        && (filter.user_id.is_none() || filter.user_id == event.user_id)
}

/// What is sent of an event.
#[derive(Serialize)]
struct Message<'a> {
    r#type: &'a Name,
    timestamp: Timestamp,
    data: Told<'a>,
}

#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    event: EventForm<'a>,
    job: Value,
}

/// The id of an event, and what is sent of it.
fn message(line: &Journaled) -> (String, String) {
    let event = EventForm::new(&line.event, line.correlation_id.as_str(), line.trace_id.as_str());
    let job = json!({
        "id": line.event.job_id,
        "type": line.job_type,
        "lifecycle": line.lifecycle,
        "queue": line.queue,
        "user_id": line.user_id,
    });
    let id = event.id.clone();
    let data = Told { event, job };
    let message = Message { r#type: &line.event.name, timestamp: line.event.ts, data };
    (id, Json::of(&message).as_str().to_owned())
}

/// What a reply says. Only a 2xx is a yes; a redirect is none, and is not followed.
async fn judge(mut response: Response) -> Sent {
    let status = response.status();
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let not_before = seconds.map(|seconds: u64| Millis(seconds.saturating_mul(1000)).min(RETRY_AFTER_MAX));
    // Read to its end, a connection can be used again; a reply that has none is left.
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read > REPLY_BYTES_MAX {
            break;
        }
    }
    if status.is_success() {
        return Sent::Taken(status.as_u16());
    }
    if status == StatusCode::GONE {
        return Sent::Gone;
    }
    Sent::Failed { status: Some(status.as_u16()), error: status.to_string(), not_before }
}

/// Why nothing came back, down to the last cause, without the URL.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", target::SEND_MAX.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
