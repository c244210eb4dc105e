//! A job that waits for a person: what is to be decided, next to a button for each signal and a comment.

use tenure_core::asset::Asset;
use tenure_core::id::{Name, StateName};
use tenure_core::lifecycle::Trigger;
use tenure_service::explain::{Explanation, NextStep};

use super::actions::may_not_send;
use super::assets;
use super::path::state_of;
use crate::prelude::*;
use crate::pretty::pretty;

/// Bytes of each text that are shown here.
const SHOWN_BYTES: usize = 4 << 10;
/// Assets that are shown here.
const ASSETS: usize = 6;
/// The limit of a comment.
const COMMENT_CHARS_MAX: usize = 2000;

/// Nothing unless the job is in a waiting state that a signal ends.
pub(super) fn decision(
    caller: &Caller,
    why: &Explanation,
    job: &Job,
    lifecycle: &Lifecycle,
    left: &[Asset],
) -> Markup {
    let signals: Vec<(&str, &NextStep)> = signals(why, job).collect();
    let Some((first, _)) = signals.first() else { return html! {} };
    let address = |signal: &str| format!("{}/signals/{}", job_address(job.id()), encode(signal));
    let lacks_all = Visitor::lacks(caller, Right::ManageJobs);
    let lacks = |signal: &str| lacks_all.clone().or_else(|| may_not_send(caller, why, signal));
    let is_off = signals.iter().all(|(signal, _)| lacks(signal).is_some());
    html! {
        section.card.decision aria-labelledby="decision" {
            h2 #decision { "Waits for a decision" }
            div.subject { (subject(job, left)) }
            form.decide method="post" action=(address(first)) {
                label for="comment" { "Comment" }
                textarea #comment name="comment" rows="2" maxlength=(COMMENT_CHARS_MAX) disabled[is_off] {}
                div.row {
                    @for (signal, step) in &signals { (send(signal, step, &address(signal), lacks(signal), lifecycle)) }
                }
                details.with {
                    summary { "with a payload instead of a comment" }
                    label for="decision-payload" { "JSON" }
                    textarea #decision-payload name="payload" rows="3" spellcheck="false" disabled[is_off] {}
                }
            }
            @for clock in &why.clocks {
                p.hint { "Without a decision: → " @for (nth, name) in clock.to.iter().enumerate() { @if nth > 0 { " or " } (state_of(lifecycle, name)) } " " (until(clock.at)) ", " code { (clock.trigger) } }
            }
        }
    }
}

/// The signals that end the wait of a job.
pub(super) fn signals<'w>(why: &'w Explanation, job: &Job) -> impl Iterator<Item = (&'w str, &'w NextStep)> {
    let waits = job.phase == Phase::Waiting;
    why.next.iter().filter_map(move |step| match &step.trigger {
        Trigger::Signal(name) if waits => Some((name.as_str(), step)),
        _ => None,
    })
}

/// What the work has brought so far: the result or checkpoint and the assets; then what was asked for.
fn subject(job: &Job, left: &[Asset]) -> Markup {
    let text = |title: &str, text: &str| {
        let (shown, is_cut) = pretty(text, SHOWN_BYTES);
        html! { div { h3 { (title) } pre tabindex="0" { (shown) @if is_cut { "\n…" } } } }
    };
    html! {
        @if let Some(result) = &job.output.result { (text("Result", result.as_str())) }
        @if let Some(checkpoint) = &job.output.checkpoint { (text("Checkpoint", checkpoint.as_str())) }
        (text("Payload", job.payload().as_str()))
        @if !left.is_empty() {
            div {
                h3 { "Assets" }
                ul.plain { @for asset in left.iter().take(ASSETS) { li { (assets::named(asset)) } } }
                @if left.len() > ASSETS { p.hint { a href="#assets" { "All assets" } } }
            }
        }
    }
}

/// Asks first if the signal ends the job.
fn send(signal: &str, step: &NextStep, action: &str, lacks: Option<String>, lifecycle: &Lifecycle) -> Markup {
    let mut outcomes = step.to.iter().filter_map(|name| lifecycle.state(name.as_str())?.phase.outcome());
    let is_good = outcomes.all(|outcome| outcome == tenure_core::lifecycle::Outcome::Succeeded);
    let (label, ask) = (label(signal), question(signal, step.to.iter(), lifecycle));
    html! {
        button type="submit" formaction=(action) class=(if ask.is_some() && !is_good { "danger" } else { "main" })
            disabled[lacks.is_some()] title=[lacks] data-ask=[ask] data-focus=(signal) { (label) }
    }
}

/// What is asked before a signal that leads to these states, if all of them are final.
fn question<'a>(
    signal: &str,
    to: impl Iterator<Item = &'a StateName>,
    lifecycle: &Lifecycle,
) -> Option<String> {
    let mut names = Vec::new();
    for name in to {
        lifecycle.state(name.as_str()).filter(|state| state.phase.is_final())?;
        names.push(name.to_string());
    }
    names.dedup();
    let label = label(signal);
    (!names.is_empty()).then(|| format!("{label}? The job becomes {}, which is final.", names.join(" or ")))
}

/// What is asked before a signal to a job that waits for it, if it ends the job.
pub(super) fn final_question(service: &Service, job: &Job, signal: &Name) -> Option<String> {
    let catalog = service.runtime().catalog();
    let lifecycle = catalog.lifecycle(&job.spec.lifecycle).filter(|_| job.phase == Phase::Waiting)?;
    let trigger = Trigger::Signal(signal.clone());
    let rules = lifecycle.rules_from(job.state.as_str()).filter(|rule| rule.on == trigger);
    question(signal.as_str(), rules.map(|rule| &rule.to), lifecycle)
}

/// `Approve` for `approve`, `Send back` for `send_back`.
pub(super) fn label(signal: &str) -> String {
    let words = signal.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_label_begins_with_a_capital() {
        assert_eq!(["approve", "send_back", "é", ""].map(label), ["Approve", "Send back", "É", ""]);
    }
}
