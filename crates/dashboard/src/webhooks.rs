//! Webhooks: what they send, how far they are, their deliveries; pause, resume, replay and delete them.

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::command::Command;
use tenure_core::id::{Name, Position};
use tenure_core::webhook::{EventFilter, Webhook, WebhookChange};
use tenure_service::extract::{Named, Segments};
use tenure_service::fields;
use tenure_service::query::is_name;
use tenure_service::webhooks::{Deliveries, position_at};
use tenure_store::JournalEntry;

use crate::icon;
use crate::prelude::*;
use tenure_core::lifecycle::Outcome;

const COLUMNS: [&str; 6] = ["Webhook", "Events", "Status", "#Behind", "Last error", "Actions"];
const NONE: (&str, &str) = ("No webhooks. Create one:", "tenure webhook create https://example.com/tenure");
const DELIVERIES: [&str; 5] = ["Status", "Time", "Event", "Job", "Replay"];
const REPLAY: &str = "Send these events again? Receivers know them by their webhook-id.";
const REPLAY_FROM: &str = "Send this event and all later ones again?";
const DELETE: &str = "Delete this webhook? Nothing more is sent.";
/// Deliveries before the position that are shown, and after it.
const SHOWN: usize = 25;

#[derive(Default)]
pub(crate) struct Webhooks;

impl Page for Webhooks {
    const TAB: Tab = Tab::Webhooks;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let webhooks = all(service).await?;
        let end = service.store().journal_end().await?;
        let lacks = Visitor::lacks(caller, Right::ManageSystem);
        let row = |it: &Webhook| row(it, end, lacks.as_deref());
        let content = rows(&webhooks, NONE, "Webhooks by id", &COLUMNS, row);
        Ok(html! {
            div #webhooks { (parts.keep("webhooks", content)) }
            p.hint { "Events are sent in the order of the journal, each at least once. Behind counts the entries of the journal that a webhook has not passed." }
        })
    }
}

async fn all(service: &Service) -> Result<Vec<Webhook>> {
    let known = service.store().automations(AutomationKind::Webhook).await?.into_iter();
    Ok(known.filter_map(Automation::into_webhook).collect())
}

async fn find(service: &Service, id: &Name) -> Result<Webhook> {
    let found = all(service).await?.into_iter().find(|webhook| webhook.id == *id);
    found.ok_or_else(|| Problem::not_found("webhook", id))
}

fn address(id: &Name) -> String {
    format!("/ui/webhooks/{}", encode(id.as_str()))
}

fn row(it: &Webhook, end: Position, lacks: Option<&str>) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(address(&it.id)) { (it.id) } div.quiet.clip { (it.url) } }
            td data-label="Events" { (words(&it.filter)) }
            td { (status(it)) }
            td.number data-label="Behind" { (count(end.0.saturating_sub(it.position.0))) }
            td { @if let Some(error) = &it.last_error { span.failed { (error) } } }
            td { (actions(it, lacks)) }
        }
    }
}

/// Which events it sends.
fn words(filter: &EventFilter) -> Markup {
    let EventFilter { job_type, lifecycle, event, user_id } = filter;
    html! {
        @if *filter == EventFilter::default() { "all" }
        @if let Some(event) = event { code { (event) } " " }
        @if let Some(job_type) = job_type { "type " (job_type) " " }
        @if let Some(lifecycle) = lifecycle { "lifecycle " (lifecycle) " " }
        @if let Some(user) = user_id { "user " (user) }
    }
}

fn status(it: &Webhook) -> Markup {
    html! {
        @if let Some(at) = it.disabled_at {
            @if it.failures > 0 {
                span.state.failed { (icon::phase(Phase::Final(Outcome::Failed))) "disabled after " (it.failures) " failures" } " " (when(at))
            } @else {
                span.state.held { (icon::phase(Phase::Waiting)) "paused" } " " (when(at))
            }
        } @else if it.failures > 0 {
            span.state.held { "failing, " (it.failures) @if it.failures == 1 { " attempt" } @else { " attempts" } }
            @if let Some(at) = it.due_at { " " span.quiet { "again " (until(at)) } }
        } @else {
            span.state.succeeded { (icon::check()) "active" }
        }
    }
}

fn actions(it: &Webhook, lacks: Option<&str>) -> Markup {
    let act = |label: &str, act: &str| button(label, &format!("{}/{act}", address(&it.id)), lacks);
    html! { @if it.disabled_at.is_some() { (act("Resume", "enable")) } @else { (act("Pause", "disable")) } }
}

struct OneWebhook(Name);

pub(crate) async fn one(visitor: Visitor, Named(id): Named<Name>, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    params.done()?;
    find(&visitor.dashboard, &id).await?;
    show(visitor, OneWebhook(id)).await
}

impl Page for OneWebhook {
    const TAB: Tab = Tab::Webhooks;

    fn title(&self) -> Option<String> {
        Some(format!("Webhook {}", self.0))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let it = find(service, &self.0).await?;
        let deliveries = Deliveries::of(service, &it, SHOWN).await?;
        let lacks = Visitor::lacks(caller, Right::ManageSystem);
        let lacks = lacks.as_deref();
        Ok(html! {
            section {
                div #webhook-actions { (parts.keep("webhook-actions", actions(&it, lacks))) }
                dl.pairs #webhook { (parts.keep("webhook", facts(&it, deliveries.behind))) }
                (replay_form(&it, lacks))
            }
            section {
                h2 { "Deliveries" }
                div #deliveries { (parts.keep("deliveries", table_of(&it, &deliveries, lacks))) }
            }
            details.apart {
                summary { "Irreversible actions" }
                form.act method="post" action=(format!("{}/delete", address(&it.id))) {
                    button.danger type="submit" disabled[lacks.is_some()] title=[lacks] data-ask=(DELETE) { "Delete webhook" }
                }
            }
        })
    }
}

fn facts(it: &Webhook, behind: u64) -> Markup {
    html! {
        dt { "URL" } dd { (it.url) }
        dt { "Events" } dd { (words(&it.filter)) }
        dt { "Status" } dd { (status(it)) }
        dt { "Position" } dd { (count(it.position.0)) ", " (count(behind)) " behind the journal" }
        dt { "Last response" } dd { @match it.last_status { Some(status) => (status), None => span.quiet { "none" } } }
        @if let Some(error) = &it.last_error { dt { "Last error" } dd.failed { (error) } }
        dt { "Created" } dd { (when(it.created_at)) " by " (it.created_by) }
    }
}

fn replay_form(it: &Webhook, lacks: Option<&str>) -> Markup {
    html! {
        form.filters method="post" action=(format!("{}/replay", address(&it.id))) {
            label { "Send events again, from this long ago on"
                input name="since" required placeholder="1h" disabled[lacks.is_some()] autocomplete="off";
            }
            button type="submit" disabled[lacks.is_some()] title=[lacks] data-ask=(REPLAY) { "Replay" }
        }
    }
}

/// Those that are sent next, then those that were sent, the newest first.
fn table_of(it: &Webhook, deliveries: &Deliveries, lacks: Option<&str>) -> Markup {
    let (sent, next) = (&deliveries.sent, &deliveries.next);
    if sent.is_empty() && next.is_empty() {
        return nothing("No matching event since it was created.", "");
    }
    html! {
        (styled_table("rows", "Events that are sent next, and those that were sent, newest first", &DELIVERIES, &html! {
            @for (nth, entry) in next.iter().enumerate().rev() { (delivery(entry, &waiting(it, nth), None)) }
            @for entry in sent {
                @let replay = format!("{}/replay", address(&it.id));
                (delivery(entry, &html! { span.state.succeeded { (icon::check()) "sent" } }, Some((&replay, lacks))))
            }
        }))
        @if deliveries.is_cut { p.hint { "Earlier deliveries are not listed; a replay includes them." } }
    }
}

/// The status of an event that was not sent yet.
fn waiting(it: &Webhook, nth: usize) -> Markup {
    html! {
        @if nth == 0 && it.failures > 0 { span.state.failed { (icon::phase(Phase::Final(Outcome::Failed))) "failed " (it.failures) "×" } }
        @else { span.state.waiting { (icon::phase(Phase::Waiting)) "waiting" } }
    }
}

fn delivery(entry: &JournalEntry, status: &Markup, replay: Option<(&str, Option<&str>)>) -> Markup {
    let event = &entry.event;
    html! {
        tr {
            td { (status) }
            td { (when(event.ts)) }
            th scope="row" { code { (event.name) } " " span.quiet { (entry.job_type) } }
            td { (job_link(event.job_id)) }
            td {
                @if let Some((action, lacks)) = replay {
                    form.act method="post" action=(action) {
                        input type="hidden" name="after" value=(entry.position.0.saturating_sub(1));
                        button type="submit" disabled[lacks.is_some()] title=[lacks] data-ask=(REPLAY_FROM) { "From here" }
                    }
                }
            }
        }
    }
}

/// `POST /ui/webhooks/{id}/{act}`.
pub(crate) async fn act(visitor: Visitor, Segments(path): Segments, mut form: Form) -> Reply {
    visitor.caller.may(Right::ManageSystem)?;
    if !is_name(&path[0]) {
        return Err(Problem::malformed("#", "the path does not name a webhook"));
    }
    let (id, act) = (Name::from(path[0].as_str()), path[1].as_str());
    let irreversible = match act {
        "replay" if form.get("after").is_some() => Some((REPLAY_FROM, "Replay")),
        "replay" => Some((REPLAY, "Replay")),
        "delete" => Some((DELETE, "Delete webhook")),
        _ => None,
    };
    if let Some((text, label)) = irreversible {
        let to = address(&id);
        let question = Question { tab: Tab::Webhooks, text, label, back: &to };
        if let Some(page) = form.ask(&visitor, question).await? {
            return Ok(page);
        }
    }
    let Visitor { dashboard, caller, .. } = visitor;
    let (change, message) = match act {
        "disable" => (WebhookChange::Disable, "is paused; its events wait"),
        "enable" => (WebhookChange::Enable, "continues with the first event that was not delivered"),
        "replay" => {
            (WebhookChange::Replay(replay_from(&dashboard, &mut form).await?), "sends its events again")
        }
        "delete" => (WebhookChange::Remove, "is deleted"),
        other => {
            let detail = format!("there is no action {}", other.escape_debug());
            return Err(Problem::new(ProblemCode::NotFound, detail));
        }
    };
    form.done()?;
    dashboard.submit(&caller, None, Command::ChangeWebhook { id: id.clone(), change }).await?;
    let to = if act == "delete" { "/ui/webhooks".to_owned() } else { address(&id) };
    Ok(back(&to, &format!("Webhook {id} {message}.")))
}

/// The position that a form names: itself, or by a time.
async fn replay_from(service: &Service, form: &mut Form) -> Result<Position> {
    if let Some(after) = form.take("after") {
        let position = tenure_service::query::row_number(&after);
        return position.map(Position).ok_or_else(|| Problem::malformed("after", "must be a position"));
    }
    let since = fields::span("since", Some(form.need("since")?.trim().to_owned()))?.unwrap_or_default();
    position_at(service, Timestamp(service.runtime().now().0.saturating_sub_unsigned(since.0))).await
}
