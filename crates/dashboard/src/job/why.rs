//! The explanation of the `explain` call, with clocks that count down.

use tenure_core::id::StateName;
use tenure_service::explain::{Clock, Explanation, NextStep};

use super::path::state_of;
use crate::prelude::*;

const SENTENCE_CHARS: usize = 600;

pub(super) fn why(explanation: &Explanation, job: &Job, lifecycle: &Lifecycle) -> Markup {
    let mut waiting = explanation.waiting_for.iter();
    html! {
        p.why {
            (state(job.state.as_str(), job.phase)) " since " (when(explanation.since))
            @if let Some(first) = waiting.next() {
                "; " (cut(&first.detail, SENTENCE_CHARS))
                @if let Some(at) = first.until { " " span.quiet { "(" (until(at)) ")" } }
            }
        }
        @for more in waiting {
            p { (cut(&more.detail, SENTENCE_CHARS)) @if let Some(at) = more.until { " " span.quiet { "(" (until(at)) ")" } } }
        }
        @if !explanation.clocks.is_empty() {
            h3 { "Running clocks" }
            ul.plain { @for clock in &explanation.clocks { li { (clock_line(clock, lifecycle)) } } }
        }
        @if !explanation.next.is_empty() { (next(&explanation.next, lifecycle)) }
        @if !explanation.suggestions.is_empty() {
            h3 { "Suggested commands" }
            ul.plain { @for command in &explanation.suggestions { li { (command_line(command)) } } }
        }
    }
}

/// `→ failed in 41 s, timeout`.
fn clock_line(clock: &Clock, lifecycle: &Lifecycle) -> Markup {
    html! {
        @if !clock.to.is_empty() { "→ " (states(&clock.to, lifecycle)) " " }
        (until(clock.at)) ", " code { (clock.trigger) }
    }
}

fn next(steps: &[NextStep], lifecycle: &Lifecycle) -> Markup {
    html! {
        h3 { "Possible transitions" }
        (styled_table("close rows", "Possible transitions and who can trigger them", &["Trigger", "To", "By"], &html! {
            @for step in steps {
                tr {
                    th scope="row" { code { (step.trigger) } }
                    td { (states(&step.to, lifecycle)) }
                    td { (step.who.join(" or ")) }
                }
            }
        }))
    }
}

fn states(names: &[StateName], lifecycle: &Lifecycle) -> Markup {
    html! {
        @for (nth, name) in names.iter().enumerate() {
            @if nth > 0 { " or " }
            (state_of(lifecycle, name))
        }
    }
}

/// A command with a copy button.
pub(super) fn command_line(command: &str) -> Markup {
    html! { span.line { code { (command) } " " button type="button" data-copy=(command) { "Copy" } } }
}
