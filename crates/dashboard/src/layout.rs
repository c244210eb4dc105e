//! The layout around every page: header, navigation, flash message, and the error page.

use std::collections::BTreeMap;

use axum::response::{Html, Response};
use http::{HeaderMap, header};
use maud::DOCTYPE;
use tenure_stats::snapshot::{Attention, Severity, Subject};

use crate::files::VERSION;
use crate::prelude::*;
use crate::session::theme;

/// Entries of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tab {
    Overview,
    Jobs,
    Errors,
    Types,
    Queues,
    Resources,
    Workers,
    Schedules,
    Webhooks,
    Lifecycles,
    Accounts,
    Events,
    Audit,
    Changes,
    System,
}

struct Entry {
    tab: Tab,
    name: &'static str,
    address: &'static str,
    /// Opens it after `g`.
    key: &'static str,
    right: Right,
}

const fn entry(
    tab: Tab,
    name: &'static str,
    address: &'static str,
    key: &'static str,
    right: Right,
) -> Entry {
    Entry { tab, name, address, key, right }
}

/// The navigation, in groups.
const GROUPS: [(&str, &[Entry]); 3] = [
    (
        "Watch",
        &[
            entry(Tab::Overview, "Overview", "/ui", "o", Right::ReadSystem),
            entry(Tab::Jobs, "Jobs", "/ui/jobs", "j", Right::ReadJobs),
            entry(Tab::Errors, "Errors", "/ui/errors", "r", Right::ReadDeadLetters),
        ],
    ),
    (
        "Run",
        &[
            entry(Tab::Types, "Types", "/ui/types", "t", Right::ReadSystem),
            entry(Tab::Queues, "Queues", "/ui/queues", "q", Right::ReadSystem),
            entry(Tab::Workers, "Workers", "/ui/workers", "w", Right::ReadSystem),
            entry(Tab::Schedules, "Schedules", "/ui/schedules", "h", Right::ReadSystem),
            entry(Tab::Webhooks, "Webhooks", "/ui/webhooks", "b", Right::ReadSystem),
            entry(Tab::Resources, "Resources", "/ui/resources", "c", Right::ReadSystem),
        ],
    ),
    (
        "Understand",
        &[
            entry(Tab::Lifecycles, "Lifecycles", "/ui/lifecycles", "l", Right::ReadSystem),
            entry(Tab::Accounts, "Users", "/ui/accounts", "u", Right::ReadJobs),
            entry(Tab::Changes, "Changes", "/ui/changes", "d", Right::ReadSystem),
            entry(Tab::Events, "Events", "/ui/events", "e", Right::ReadJobs),
            entry(Tab::Audit, "Audit", "/ui/audit", "a", Right::ReadSystem),
            entry(Tab::System, "System", "/ui/system", "s", Right::ReadSystem),
        ],
    ),
];

impl Tab {
    pub(crate) fn name(self) -> &'static str {
        let mut entries = GROUPS.iter().flat_map(|(_, entries)| *entries);
        entries.find(|entry| entry.tab == self).map_or("", |entry| entry.name)
    }
}

/// What the navigation shows beside its entries.
pub(crate) type Badges = BTreeMap<Tab, Markup>;

/// How many things need attention, by the page on which they are settled. They change while a page is open.
pub(crate) async fn badges(service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Badges> {
    let mut badges = Badges::new();
    if !caller.is(Right::ReadSystem) {
        return Ok(badges);
    }
    let snapshot = service.stats().snapshot().await?;
    for tab in
        [Tab::Overview, Tab::Errors, Tab::Queues, Tab::Workers, Tab::Schedules, Tab::Webhooks, Tab::System]
    {
        let is_here = |it: &&Attention| tab == Tab::Overview || tab_of(&it.subject) == tab;
        let matters = || snapshot.attention.iter().filter(is_here);
        let is_critical = matters().any(|it| it.severity == Severity::Critical);
        let class = if is_critical { "badge critical" } else { "badge warning" };
        let number = matters().count();
        let content =
            html! { @if number > 0 { span class=(class) { (number) span.unseen { " need attention" } } } };
        badges.insert(tab, parts.keep(badge_id(tab), content));
    }
    Ok(badges)
}

fn tab_of(subject: &Subject) -> Tab {
    match subject {
        Subject::DeadLetters | Subject::Errors(_) => Tab::Errors,
        Subject::Queues => Tab::Queues,
        Subject::Resources => Tab::Resources,
        Subject::ReadyJobs(_) | Subject::Workers => Tab::Workers,
        Subject::State { .. } => Tab::Jobs,
        Subject::Schedules => Tab::Schedules,
        Subject::Webhooks => Tab::Webhooks,
        Subject::System => Tab::System,
    }
}

fn badge_id(tab: Tab) -> String {
    format!("badge-{}", tab.name().to_lowercase())
}

/// A page with its layout. `stream` is the address of its stream.
pub(crate) fn full(
    visitor: &Visitor,
    (here, title): (Tab, &str),
    stream: &str,
    badges: &Badges,
    main: &Markup,
) -> Markup {
    let body = html! {
        a.skip href="#main" { "Skip to content" }
        (bar(visitor))
        nav aria-label="Pages" {
            @for (group, entries) in GROUPS {
                div.group {
                    h2.quiet { (group) }
                    ul { @for entry in entries { (link(visitor, entry, here, badges)) } }
                }
            }
        }
        main #main tabindex="-1" {
            @if let Some(flash) = &visitor.flash { p.flash role="status" { (flash) } }
            h1 { (title) }
            (main)
        }
        div #announcements .unseen role="status" aria-live="polite" {}
        (shortcuts())
    };
    let body = html! { body data-stream=(stream) data-now=(visitor.now) { (body) } };
    document(visitor.theme, title, &body)
}

/// A page without navigation: the sign-in page and error pages.
pub(crate) fn bare(theme: Option<&'static str>, title: &str, main: &Markup) -> Markup {
    let body = html! {
        body.bare {
            header { (brand()) }
            main #main { h1 { (title) } (main) }
        }
    };
    document(theme, title, &body)
}

fn document(theme: Option<&'static str>, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Tenure" }
                link rel="icon" type="image/svg+xml" href=(format!("/ui/icon.svg?{}", *VERSION));
                link rel="stylesheet" href=(format!("/ui/tenure.css?{}", *VERSION));
                script type="module" src=(format!("/ui/tenure.js?{}", *VERSION)) {}
            }
            (body)
        }
    }
}

fn brand() -> Markup {
    html! { a.brand href="/ui" { img src=(format!("/ui/icon.svg?{}", *VERSION)) alt="" width="22" height="22"; "Tenure" } }
}

fn bar(visitor: &Visitor) -> Markup {
    let caller = &visitor.caller;
    html! {
        header {
            (brand())
            form.search role="search" action="/ui/search" {
                label.unseen for="search" { "Find a job by id, or jobs by state:failed type:image, or a user, type, queue, worker or error" }
                input #search type="search" name="q" placeholder="Search: id, user, type, error, state:failed…  (Ctrl K)" autocomplete="off" spellcheck="false";
            }
            p #live .live data-live="off" title="Live updates need JavaScript" { span aria-hidden="true" { "●" } " " span.live-word { "static" } }
            form method="post" action="/ui/theme" {
                input type="hidden" name="back" value=(visitor.address);
                label.unseen for="theme" { "Theme" }
                select #theme name="theme" {
                    @for (value, name) in [("", "System"), ("light", "Light"), ("dark", "Dark")] {
                        option value=(value) selected[visitor.theme.unwrap_or("") == value] { (name) }
                    }
                }
                noscript { button type="submit" { "Set" } }
            }
            button #help type="button" title="Keyboard shortcuts" aria-label="Keyboard shortcuts" { "?" }
            @if caller.credential != "open" {
                p.caller { (caller.roles.iter().map(Role::as_str).collect::<Vec<_>>().join(", ")) @if let Some(user) = &caller.user { " · " (user) } }
                form method="post" action="/ui/sign-out" { button type="submit" { "Sign out" } }
            }
        }
    }
}

fn link(visitor: &Visitor, entry: &Entry, here: Tab, badges: &Badges) -> Markup {
    let Entry { tab, name, address, key, right } = *entry;
    let lacks = Visitor::lacks(&visitor.caller, right);
    html! {
        li {
            @if let Some(why) = lacks {
                a aria-disabled="true" title=(why) { (name) }
            } @else {
                a href=(address) data-key=(key) aria-current=[(tab == here).then_some("page")] {
                    (name) @if let Some(badge) = badges.get(&tab) { span id=(badge_id(tab)) { (badge) } }
                }
            }
        }
    }
}

fn shortcuts() -> Markup {
    let shortcuts = [
        ("/ or Ctrl K", "search"),
        ("g then o j r t q w h b c l u d e a s", "open a page"),
        ("j k", "next and previous row"),
        ("Enter", "open the row"),
        ("x", "select the row"),
        ("p", "pause or resume live updates"),
        ("?", "show this help"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keyboard shortcuts" }
            dl { @for (key, what) in shortcuts { div { dt { kbd { (key) } } dd { (what) } } } }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// A problem as a page. Requests that are not signed in are redirected to the sign-in page.
pub(crate) fn problem(problem: &Problem, headers: &HeaderMap, address: &str) -> Option<Response> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if !accept.contains("text/html") {
        return None;
    }
    if problem.code() == ProblemCode::Unauthenticated.code() {
        let to = format!("/ui/sign-in?to={}", encode(address));
        return Some(axum::response::Redirect::to(&to).into_response());
    }
    let main = html! {
        p.bad role="alert" { (problem.detail()) }
        p { "Help: " a href=(format!("/problems/{}", problem.code())) { (problem.code()) } "." }
        p { a href="/ui" { "Go to the overview" } }
    };
    let page = bare(theme(headers), problem.title(), &main);
    Some((problem.status(), Html(page.into_string())).into_response())
}
