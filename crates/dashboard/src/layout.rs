//! What every page has around it: the bar, the navigation, the place where a refusal is read.

use axum::response::{Html, IntoResponse as _, Response};
use http::{HeaderMap, header};
use maud::{DOCTYPE, Markup, html};
use tenure_service::caller::Right;
use tenure_service::links::encode;
use tenure_service::problem::{Problem, ProblemCode};

use crate::files::VERSION;
use crate::session::{Visitor, theme};

/// The places of the navigation, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Now,
    Lifecycles,
    Jobs,
    DeadLetters,
    Workers,
    Queues,
    Accounts,
    Events,
    System,
}

impl Tab {
    const ALL: [Self; 9] = [
        Self::Now,
        Self::Lifecycles,
        Self::Jobs,
        Self::DeadLetters,
        Self::Workers,
        Self::Queues,
        Self::Accounts,
        Self::Events,
        Self::System,
    ];

    /// Its name, its address, and the key that leads there after `g`.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Now => ("Now", "/ui", "n"),
            Self::Lifecycles => ("Lifecycles", "/ui/lifecycles", "l"),
            Self::Jobs => ("Jobs", "/ui/jobs", "j"),
            Self::DeadLetters => ("Dead letters", "/ui/dead-letters", "d"),
            Self::Workers => ("Workers", "/ui/workers", "w"),
            Self::Queues => ("Queues", "/ui/queues", "q"),
            Self::Accounts => ("Accounts", "/ui/accounts", "a"),
            Self::Events => ("Events", "/ui/events", "e"),
            Self::System => ("System", "/ui/system", "s"),
        }
    }

    fn right(self) -> Right {
        match self {
            Self::Jobs | Self::DeadLetters | Self::Events | Self::Accounts => Right::ReadJobs,
            Self::Now | Self::Lifecycles | Self::Workers | Self::Queues | Self::System => Right::ReadSystem,
        }
    }
}

/// What the frame says of a page.
pub(crate) struct Head {
    pub(crate) title: String,
    pub(crate) tab: Tab,
    /// Where its stream is.
    pub(crate) stream: String,
}

/// A page with everything around it.
pub(crate) fn whole(visitor: &Visitor, head: &Head, main: &Markup) -> Markup {
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        (bar(visitor))
        nav aria-label="Pages" { ul { @for tab in Tab::ALL { (link(visitor, tab, head.tab)) } } }
        main #main tabindex="-1" {
            @if let Some(said) = &visitor.said { p.said role="status" { (said) } }
            h1 { (head.title) }
            (main)
        }
        div #told .unseen role="status" aria-live="polite" {}
        (keys())
    };
    document(
        visitor.theme,
        &head.title,
        &html! { body data-stream=(head.stream) data-now=(visitor.now) { (body) } },
    )
}

/// A page for somebody who is not in yet, or to whom nothing else can be shown.
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
    let who = &visitor.caller;
    html! {
        header {
            (brand())
            form.search role="search" action="/ui/search" {
                label.unseen for="search" { "Find a job by its id, or jobs by state:failed type:image" }
                input #search type="search" name="q" placeholder="id, or state:failed type:image" autocomplete="off" spellcheck="false";
            }
            p #live .live data-live="off" title="Numbers do not move without scripts" { span aria-hidden="true" { "●" } " " span.live-word { "still" } }
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
            button #help type="button" title="Keys that work here" aria-label="Keys that work here" { "?" }
            @if who.credential != "open" {
                p.who { (who.role.as_str()) @if let Some(user) = &who.user { " · " (user) } }
                form method="post" action="/ui/sign-out" { button type="submit" { "Sign out" } }
            }
        }
    }
}

fn link(visitor: &Visitor, tab: Tab, here: Tab) -> Markup {
    let (name, address, key) = tab.words();
    let lacks = Visitor::lacks(&visitor.caller, tab.right());
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

/// What can be typed, told when somebody asks.
fn keys() -> Markup {
    let told = [
        ("/", "to the search"),
        ("g then n l j d w q a e s", "to a page"),
        ("j k", "down and up the rows"),
        ("Enter", "open the row"),
        ("x", "select the row"),
        ("p", "pause, and go on"),
        ("?", "this"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl { @for (key, what) in told { div { dt { kbd { (key) } } dd { (what) } } } }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// A refusal as a person reads it; somebody who is not signed in is led to where he can.
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
        p { "What to do about it: " a href=(format!("/problems/{}", problem.code())) { (problem.code()) } "." }
        p { a href="/ui" { "To the first page" } }
    };
    let page = bare(theme(headers), problem.title(), &main);
    Some((problem.status(), Html(page.into_string())).into_response())
}
