//! What if: a form for another version of a lifecycle, and what it would have changed.

use tenure_core::id::LifecycleName;
use tenure_core::lifecycle::Flaw;
use tenure_service::extract::Named;
use tenure_service::lifecycles as service_lifecycles;
use tenure_service::links::jobs_in;
use tenure_service::what_if::{
    Histories, HistoryResult, LiveJobs, LiveState, NewEnd, ObstacleCount, PERIOD_DEFAULT, WhatIf, what_if,
};

use super::tabs;
use crate::icon;
use crate::map;
use crate::prelude::*;

/// Periods that the form offers.
const PERIODS: [(&str, &str); 5] = [
    ("1h", "in the last hour"),
    ("6h", "in the last 6 hours"),
    ("1d", "in the last day"),
    ("7d", "in the last 7 days"),
    ("30d", "in the last 30 days"),
];

struct Asked {
    /// The version in force.
    lifecycle: Arc<Lifecycle>,
    /// The text in the form.
    source: String,
    since: Millis,
    answer: Option<Result<WhatIf, Vec<Flaw>>>,
}

pub(crate) async fn form(visitor: Visitor, name: Named<LifecycleName>, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    params.done()?;
    let lifecycle = service_lifecycles::newest(&visitor.dashboard, name.0.as_str())?;
    let source = lifecycle.source.clone();
    show(visitor, Asked { lifecycle, source, since: PERIOD_DEFAULT, answer: None }).await
}

pub(crate) async fn answer(visitor: Visitor, name: Named<LifecycleName>, mut form: Form) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    let lifecycle = service_lifecycles::newest(&visitor.dashboard, name.0.as_str())?;
    // Browsers send lines of forms with carriage returns.
    let source = form.need("source")?.replace("\r\n", "\n");
    let since = form.need("since")?;
    form.done()?;
    let bad = || Problem::malformed("since", format!("`{since}` is not a duration such as \"1d\""));
    let since = Millis::parse(&since).ok_or_else(bad)?;
    let answer = match Lifecycle::parse(&source) {
        Err(flaws) => Err(flaws),
        Ok(new) if new.name != lifecycle.name => {
            let detail = format!("the file describes lifecycle {}, not {}", new.name, lifecycle.name);
            return Err(Problem::invalid("source", detail));
        }
        Ok(new) => Ok(what_if(&visitor.dashboard, new, since).await?),
    };
    show(visitor, Asked { lifecycle, source, since, answer: Some(answer) }).await
}

impl Page for Asked {
    const TAB: Tab = Tab::Lifecycles;

    fn title(&self) -> Option<String> {
        Some(format!("What if: {}", self.lifecycle.name))
    }

    fn stream(&self) -> Option<String> {
        Some(String::new())
    }

    async fn draw(&self, _: &Service, _: &Caller, _: &mut Parts) -> Result<Markup> {
        Ok(html! {
            (tabs(&self.lifecycle, "what-if"))
            p {
                "Change the file, and see which live jobs could follow it and how finished ones would have ended. Nothing is stored. "
                "What callers and workers did is replayed at its times, by the new rules; what they would have done otherwise is not known."
            }
            @match &self.answer {
                None => {},
                Some(Err(flaws)) => (flaws_list(flaws)),
                Some(Ok(found)) => (self.result(found)),
            }
            (self.form())
        })
    }
}

impl Asked {
    fn form(&self) -> Markup {
        let address = format!("{}/what-if", map::address(&self.lifecycle.name));
        html! {
            form.try method="post" action=(address) {
                div.row {
                    label { "Jobs that finished "
                        select name="since" {
                            @for (value, label) in PERIODS { option value=(value) selected[Millis::parse(value) == Some(self.since)] { (label) } }
                        }
                    }
                    button.main type="submit" { "Try this version" }
                    label.scripted { "Load a file " input type="file" data-into="source" accept=".toml,text/plain"; }
                }
                label for="source" { "Lifecycle file" }
                textarea #source name="source" rows="24" spellcheck="false" required { (self.source) }
            }
        }
    }

    fn result(&self, found: &WhatIf) -> Markup {
        let WhatIf { lifecycle: new, in_force, from, to, live, histories } = found;
        let differing: u64 = histories.results.iter().filter(|it| it.differs()).map(|it| it.jobs).sum();
        html! {
            section #result {
                h2 { (new.name) " v" (new.version) ", judged by the jobs of v" (in_force) " and before" }
                @if new.version <= *in_force {
                    p.hint { "To use it, raise " code { "version" } ": jobs keep the version that they were created with." }
                }
                p role="status" {
                    strong { (count(live.could_continue())) " of " (count(live.examined)) } " live jobs could continue. "
                    strong { (count(differing)) " of " (count(histories.examined - histories.skipped)) }
                    " jobs that finished since " (when(*from)) " would have ended otherwise."
                }
                (bounds(live, histories, *to))
                h3 { "Live jobs" }
                (self.live(live))
                h3 { "Finished jobs" }
                (results(new, histories))
                @if !histories.obstacles.is_empty() {
                    h3 { "First events that could not be followed" }
                    (obstacles(&histories.obstacles))
                }
            }
        }
    }

    fn live(&self, live: &LiveJobs) -> Markup {
        let row = |it: &LiveState| {
            html! {
                tr {
                    th scope="row" { a href=(jobs_in(&self.lifecycle.name, &it.state)) { (state(it.state.as_str(), it.phase)) } " " span.quiet { "v" (it.version) } }
                    td.number data-label="Jobs" { (count(it.jobs)) }
                    td data-label="Role" { (it.phase.as_str()) }
                    td data-label="New role" { @match it.counterpart { Some(phase) => (phase.as_str()), None => span.quiet { "no such state" } } }
                    td data-label="Could continue?" {
                        @if it.reasons.is_empty() { span.state.succeeded { (icon::check()) "yes" } }
                        @else { ul.plain { @for reason in &it.reasons { li { (reason) } } } }
                    }
                    td data-label="Examples" { @for id in &it.examples { (job_link(*id)) " " } }
                }
            }
        };
        let columns = ["State", "#Jobs", "Role", "New role", "Could continue?", "Examples"];
        rows(&live.states, ("No job of this lifecycle is live.", ""), "Live jobs by state", &columns, row)
    }
}

fn flaws_list(flaws: &[Flaw]) -> Markup {
    html! {
        section #result {
            h2 { @if flaws.len() == 1 { "1 flaw" } @else { (flaws.len()) " flaws" } }
            ul role="alert" { @for flaw in flaws { li { code { (flaw) } " " span.quiet { (flaw.help) } } } }
        }
    }
}

/// What was not examined.
fn bounds(live: &LiveJobs, histories: &Histories, to: Timestamp) -> Markup {
    html! {
        @if live.examined < live.jobs { p.hint { "Of " (count(live.jobs)) " live jobs, the newest of each phase were examined." } }
        @if histories.is_complete {
            p.hint { "All jobs that finished until " (when(to)) " were replayed." }
        } @else {
            p.hint { "More jobs finished: " (count(histories.examined)) " of them were replayed, some from each twentieth of the time." }
        }
        @if histories.skipped > 0 { p.hint { (count(histories.skipped)) " histories were too long, or are gone." } }
    }
}

fn results(new: &Lifecycle, histories: &Histories) -> Markup {
    let end = |it: &HistoryResult| match &it.becomes {
        NewEnd::Finished { state: name, outcome } => state(name.as_str(), Phase::Final(*outcome)),
        NewEnd::Unfinished { state: name } => {
            let phase = new.state(name.as_str()).map_or(Phase::Ready, |state| state.phase);
            html! { "unfinished in " (state(name.as_str(), phase)) }
        }
        NewEnd::Stopped => html! { "could not follow an event" },
    };
    let row = |it: &HistoryResult| {
        html! {
            tr {
                th scope="row" { (state(it.state.as_str(), Phase::Final(it.outcome))) }
                td data-label="Would have ended" { @if it.differs() { (end(it)) } @else { span.quiet { "the same" } } @if it.early > 0 { " " span.quiet { (count(it.early)) " earlier" } } }
                td.number data-label="Jobs" { (count(it.jobs)) }
                td data-label="Examples" { @for id in &it.examples { (job_link(*id)) " " } }
            }
        }
    };
    let columns = ["Ended", "Would have ended", "#Jobs", "Examples"];
    let none = ("No job of this lifecycle finished in this time.", "");
    rows(&histories.results, none, "Finished jobs by their end and their new end", &columns, row)
}

fn obstacles(obstacles: &[ObstacleCount]) -> Markup {
    let rows = html! {
        @for it in obstacles {
            tr {
                th scope="row" { (it.obstacle) }
                td.number data-label="Jobs" { (count(it.jobs)) }
                td data-label="Examples" { @for (id, seq) in &it.examples { (job_link(*id)) " event " (seq) " " } }
            }
        }
    };
    table("Why histories could not be followed", &["Why", "#Jobs", "Examples"], &rows)
}
