//! What changed: deploys, pauses and actions of operators on one time line, and the rates of each type before and after one of them.

use std::time::{Duration, Instant};

use tenure_service::changes::{
    Change, ChangedValue, Comparison, LINES_MAX, Moved, TypeComparison, TypeRates, changes, compare,
};
use tokio::sync::Mutex;

use crate::prelude::*;

/// Rows of a page.
const ROWS: usize = 200;
/// The times that are compared on each side, with the address that chooses them.
const WINDOWS: [(&str, &str); 4] = [("10m", "10 min"), ("30m", "30 min"), ("2h", "2 hours"), ("1d", "1 day")];
const WINDOW_DEFAULT: Millis = Millis::seconds(1800);
/// A comparison with jobs that still finish is made again after this time, while the page is open.
const COMPARISON_AGE_MAX: Duration = Duration::from_secs(10);

struct Changes {
    /// The change that is compared; `None`: the newest deploy, or else the newest change.
    id: Option<String>,
    window: Millis,
    is_deploys: bool,
    compared: Mutex<Option<(String, Instant, Arc<Comparison>)>>,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    let id = params.text("change");
    let window =
        params.read("window", "a duration such as \"30m\"", Millis::parse)?.unwrap_or(WINDOW_DEFAULT);
    let is_deploys = params.flag("deploys")?;
    params.done()?;
    show(visitor, Changes { id, window, is_deploys, compared: Mutex::default() }).await
}

impl Page for Changes {
    const TAB: Tab = Tab::Changes;

    fn title(&self) -> Option<String> {
        Some("What changed".to_owned())
    }

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let mut all = changes(service).await?;
        let chosen = match &self.id {
            Some(id) => all.iter().find(|change| change.id == *id),
            None => all.iter().find(|change| change.kind.is_deploy()).or(all.first()),
        };
        let chosen = chosen.cloned();
        let compared = match &chosen {
            Some(change) => Some(self.comparison(service, change).await?),
            None => None,
        };
        all.retain(|change| !self.is_deploys || change.kind.is_deploy());
        let comparison = match chosen.as_ref().zip(compared.as_ref()) {
            Some((change, compared)) => self.before_and_after(change, compared),
            None if self.id.is_some() => nothing("This change is no longer on the time line.", ""),
            None => html! {},
        };
        Ok(html! {
            div #comparison { (parts.keep("comparison", comparison)) }
            section {
                h2 { "Changes" }
                p.row {
                    a href="/ui/changes" aria-current=[(!self.is_deploys).then_some("true")] { "All" }
                    a href="/ui/changes?deploys=true" aria-current=[self.is_deploys.then_some("true")] { "Deploys only" }
                }
                div #changes { (parts.keep("changes", self.time_line(&all, chosen.as_ref()))) }
                p.hint {
                    "From the last " (count(LINES_MAX as u64)) " lines of the audit log, as many earlier ones that are not about jobs, and the nodes of the last hour. "
                    "Versions of workers are on the page " a href="/ui/workers" { "Workers" } "."
                }
            }
        })
    }
}

impl Changes {
    async fn comparison(&self, service: &Service, change: &Change) -> Result<Arc<Comparison>> {
        let mut known = self.compared.lock().await;
        let is_current = |(id, at, comparison): &&(String, Instant, Arc<Comparison>)| {
            let is_over = change.at + self.window <= comparison.to;
            *id == change.id && (is_over || at.elapsed() < COMPARISON_AGE_MAX)
        };
        if let Some((_, _, comparison)) = known.as_ref().filter(is_current) {
            return Ok(Arc::clone(comparison));
        }
        let made = Arc::new(compare(service, change.at, self.window).await?);
        *known = Some((change.id.clone(), Instant::now(), Arc::clone(&made)));
        Ok(made)
    }

    fn address(&self, change: &Change, window: &str) -> String {
        let deploys = if self.is_deploys { "&deploys=true" } else { "" };
        format!("/ui/changes?change={}&window={window}{deploys}", encode(&change.id))
    }

    fn before_and_after(&self, change: &Change, compared: &Comparison) -> Markup {
        html! {
            section {
                h2 { "Before and after: " (change.kind.name()) " " (change.what) }
                p { (when(change.at)) @if !change.by.is_empty() { ", by " (change.by) } }
                @if !change.values.is_empty() { (values(&change.values)) }
                p.row {
                    span { "Compared on each side:" }
                    @for (window, label) in WINDOWS {
                        a href=(self.address(change, window)) aria-current=[(Millis::parse(window) == Some(self.window)).then_some("true")] { (label) }
                    }
                }
                (types(compared))
                p.hint {
                    "Jobs by the time at which they finished, until " (when(compared.to)) ". "
                    @if let Some(period) = compared.period { "Counted in periods of " (span(period)) "; the one in which the change was is left out. " }
                    "Highlighted: failure rates that changed by more than chance explains, and times that changed by at least half and 50 ms."
                }
            }
        }
    }

    fn time_line(&self, changes: &[Change], chosen: Option<&Change>) -> Markup {
        let row = |change: &Change| {
            let is_chosen = chosen.is_some_and(|chosen| chosen.id == change.id);
            html! {
                tr {
                    td { (when(change.at)) }
                    td { (change.kind.name()) }
                    th scope="row" {
                        (change.what)
                        @if let Some(job) = change.job.filter(|_| change.jobs == 1) { " " (job_link(job)) }
                        @if change.jobs > 1 { " " (count(change.jobs)) " jobs" }
                    }
                    td data-label="By" { @if change.by.is_empty() { span.quiet { "–" } } @else { (change.by) } }
                    td { @if is_chosen { strong { "compared" } } @else { a href=(self.address(change, &self.window.to_string().replace(' ', ""))) { "Compare" } } }
                }
            }
        };
        let shown = &changes[..changes.len().min(ROWS)];
        let none = ("Nothing changed since the server started to record changes.", "");
        rows(shown, none, "Changes, newest first", &["Time", "Kind", "Change", "By", "Rates"], row)
    }
}

fn values(values: &[ChangedValue]) -> Markup {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
    let rows = html! {
        @for value in values {
            tr { th.mono scope="row" { (value.name) } td.mono data-label="Before" { (shown(&value.before)) } td.mono data-label="After" { (shown(&value.after)) } }
        }
    };
    table("Changed settings", &["Setting", "Before", "After"], &rows)
}

fn types(compared: &Comparison) -> Markup {
    let moved = |how: Moved, text: String| match how {
        Moved::No => html! { (text) },
        Moved::Up => html! { span.state.failed { "↑ " (text) } },
        Moved::Down => html! { span.state.succeeded { "↓ " (text) } },
    };
    let percent = |rates: &TypeRates| {
        rates.failure_rate().map_or_else(|| "–".to_owned(), |rate| format!("{:.1} %", rate * 100.0))
    };
    let time = |time: Option<Millis>| time.map_or_else(|| "–".to_owned(), span);
    let row = |it: &TypeComparison| {
        let TypeComparison { name, before, after, .. } = it;
        let pair = |value: &dyn Fn(&TypeRates) -> String| format!("{} → {}", value(before), value(after));
        html! {
            tr {
                th scope="row" { a href=(format!("/ui/types/{}", encode(name.as_str()))) { (name) } }
                td.number data-label="Finished" { (pair(&|rates| count(rates.jobs))) }
                td.number data-label="Failure rate" { (moved(it.failure, pair(&percent))) }
                td.number data-label="Wait p95" { (moved(it.wait, pair(&|rates| time(rates.wait_p95)))) }
                td.number data-label="Run p95" { (moved(it.run, pair(&|rates| time(rates.run_p95)))) }
            }
        }
    };
    let columns = ["Type", "#Finished", "#Failure rate", "#Wait p95", "#Run p95"];
    rows(
        &compared.types,
        ("No job finished in this time.", ""),
        "Rates of each type before and after the change",
        &columns,
        row,
    )
}
