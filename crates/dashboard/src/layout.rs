//! The layout around every page: header, navigation, flash message, and the error page.

use axum::response::{Html, Response};
use http::{HeaderMap, header};
use maud::DOCTYPE;

use crate::files::VERSION;
use crate::prelude::*;
use crate::session::theme;

/// Entries of the navigation, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Overview,
    Lifecycles,
    Jobs,
    DeadLetters,
    Workers,
    Queues,
    Accounts,
    Events,
    System,
}

/// Name, address, the key that opens it after `g`, and the right that it requires.
const TABS: [(Tab, &str, &str, &str, Right); 9] = [
    (Tab::Overview, "Overview", "/ui", "o", Right::ReadSystem),
    (Tab::Lifecycles, "Lifecycles", "/ui/lifecycles", "l", Right::ReadSystem),
    (Tab::Jobs, "Jobs", "/ui/jobs", "j", Right::ReadJobs),
    (Tab::DeadLetters, "Dead letters", "/ui/dead-letters", "d", Right::ReadDeadLetters),
    (Tab::Workers, "Workers", "/ui/workers", "w", Right::ReadSystem),
    (Tab::Queues, "Queues", "/ui/queues", "q", Right::ReadSystem),
    (Tab::Accounts, "Accounts", "/ui/accounts", "a", Right::ReadJobs),
    (Tab::Events, "Events", "/ui/events", "e", Right::ReadJobs),
    (Tab::System, "System", "/ui/system", "s", Right::ReadSystem),
];

impl Tab {
    pub(crate) fn name(self) -> &'static str {
        TABS.iter().find(|(tab, ..)| *tab == self).map_or("", |(_, name, ..)| name)
    }
}

/// A page with its layout. `stream` is the address of its stream.
pub(crate) fn full(visitor: &Visitor, here: Tab, title: &str, stream: &str, main: &Markup) -> Markup {
    let body = html! {
        a.skip href="#main" { "Skip to content" }
        (bar(visitor))
        nav aria-label="Pages" { ul { @for entry in TABS { (link(visitor, entry, here)) } } }
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
                label.unseen for="search" { "Find a job by id, or jobs by state:failed type:image" }
                input #search type="search" name="q" placeholder="id or state:failed type:image" autocomplete="off" spellcheck="false";
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

fn link(visitor: &Visitor, entry: (Tab, &str, &str, &str, Right), here: Tab) -> Markup {
    let (tab, name, address, key, right) = entry;
    let lacks = Visitor::lacks(&visitor.caller, right);
    html! {
        li {
            @if let Some(why) = lacks {
                a aria-disabled="true" title=(why) { (name) }
            } @else {
                a href=(address) data-key=(key) aria-current=[(tab == here).then_some("page")] { (name) }
            }
        }
    }
}

fn shortcuts() -> Markup {
    let shortcuts = [
        ("/", "search"),
        ("g then o l j d w q a e s", "open a page"),
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
