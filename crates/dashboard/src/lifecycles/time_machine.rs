//! Time machine: a slider below the map, and the unfinished jobs of an earlier minute compared with now.

use tenure_diagram::{MapStyle, MapValues, StateValues};
use tenure_service::links::jobs_in;
use tenure_service::time_machine::{Past, REACH_MAX};

use crate::map;
use crate::prelude::*;

/// How much the slider covers.
const SLIDER: Millis = Millis::seconds(86_400);
const MINUTE: u64 = 60_000;
/// Steps of the links beside the slider: minutes and label.
const STEPS: [(i64, &str); 6] =
    [(-60, "−1 h"), (-10, "−10 m"), (-1, "−1 m"), (1, "+1 m"), (10, "+10 m"), (60, "+1 h")];

/// An RFC 3339 time, or seconds since 1970, which the slider sends.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let seconds =
        || text.parse::<i64>().ok().filter(|seconds| (0..=Timestamp::NEVER.0 / 1000).contains(seconds));
    Timestamp::parse(text).or_else(|| seconds().map(|seconds| Timestamp(seconds * 1000)))
}

/// The full minute, not in the future and not earlier than is looked.
pub(super) fn within_reach(at: Timestamp, now: Timestamp) -> Timestamp {
    minute(at.min(now).max(before(now, REACH_MAX) + Millis(MINUTE)))
}

fn minute(at: Timestamp) -> Timestamp {
    Timestamp(at.minute() * MINUTE as i64)
}

fn before(at: Timestamp, span: Millis) -> Timestamp {
    Timestamp(at.0.saturating_sub_unsigned(span.0))
}

/// `2026-11-18 at 20:05 UTC`.
fn shown(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{} at {} UTC", &text[..10], &text[11..16])
}

fn address(lifecycle: &Lifecycle, at: Timestamp) -> String {
    format!("{}?at={}", map::address(&lifecycle.name), encode(&at.to_string()))
}

/// The form that leads to another minute. With scripts it is sent when the slider is released.
pub(super) fn slider(lifecycle: &Lifecycle, at: Option<Timestamp>, now: Timestamp) -> Markup {
    let (here, last) = (at.unwrap_or_else(|| minute(now)), minute(now));
    // An earlier time is in the middle.
    let end = if here + SLIDER > last { last } else { here + Millis(SLIDER.0 / 2) };
    let begin = before(end, SLIDER);
    let seconds = |at: Timestamp| at.0 / 1000;
    let step = |minutes: i64| Timestamp(here.0 + minutes * MINUTE as i64);
    html! {
        form.slider action=(map::address(&lifecycle.name)) {
            div.row {
                label for="at" { "Time machine" }
                input #at type="range" name="at" min=(seconds(begin)) max=(seconds(end)) step="60" value=(seconds(here)) data-times="";
                output.scripted for="at" {}
                button type="submit" { "Show" }
            }
            div.row {
                @for (minutes, label) in STEPS {
                    @if step(minutes) <= last { a href=(address(lifecycle, step(minutes))) { (label) } }
                }
                @if at.is_some() { a href=(map::address(&lifecycle.name)) { "Now" } }
            }
        }
    }
}

/// The map and the states at an earlier minute.
pub(super) async fn past(
    service: &Service,
    lifecycle: &Lifecycle,
    (at, now): (Timestamp, Timestamp),
    parts: &mut Parts,
) -> Result<Markup> {
    let past = service.past(&lifecycle.name, at).await?;
    let map = map::linked(lifecycle, MapStyle::Small, &values(&past), parts);
    Ok(html! {
        section {
            h2 { "Unfinished jobs on " (shown(at)) }
            div.wide tabindex="0" role="region" aria-label="Map" { (map) }
            (slider(lifecycle, Some(at), now))
        }
        section { h2 { "Then and now" } div #past { (parts.keep("past", states(lifecycle, &past))) } }
    })
}

fn values(past: &Past) -> MapValues {
    let mut values = MapValues::default();
    for (state, jobs) in past.then.iter().flatten() {
        let shown = StateValues { count: Some(count(*jobs)), ..StateValues::default() };
        values.states.insert(state.clone(), shown);
    }
    values
}

fn states(lifecycle: &Lifecycle, past: &Past) -> Markup {
    // States of older versions, which have no place in the file, come last.
    let declared = lifecycle.states.iter().filter(|state| !state.phase.is_final());
    let mut rows: Vec<_> = declared.map(|state| (&state.name, Some(state.phase))).collect();
    let former = past.now.keys().filter(|name| lifecycle.state(name.as_str()).is_none());
    rows.extend(former.map(|name| (name, None)));
    let number = |jobs: Option<u64>| jobs.map_or_else(|| "–".to_owned(), count);
    let change = |then: Option<u64>, now: u64| match then {
        None => String::new(),
        Some(then) if now >= then => format!("+{}", count(now - then)),
        Some(then) => format!("−{}", count(then - now)),
    };
    html! {
        (table("Unfinished jobs by state, then and now", &["State", "#Then", "#Now", "#Change"], &html! {
            @for (name, phase) in rows {
                @let then = past.then.as_ref().map(|then| then.get(name).copied().unwrap_or(0));
                @let now = past.now.get(name).copied().unwrap_or(0);
                tr {
                    th scope="row" { a href=(jobs_in(&lifecycle.name, name)) { @match phase { Some(phase) => (state(name.as_str(), phase)), None => (name) } } }
                    td.number data-label="Then" { (number(then)) }
                    td.number data-label="Now" { (count(now)) }
                    td.number data-label="Change" { (change(then, now)) }
                }
            }
        }))
        @if past.then.is_none() {
            p role="status" {
                "The journal is being read backwards: " (count(past.events)) " events so far"
                @if let Some(from) = past.known_from { ", back to " (when(from)) }
                ". This page shows the jobs when it is done; without scripts, load it again."
            }
        } @else {
            p.hint {
                (count(past.events)) " events of the journal were read"
                @if let Some(from) = past.known_from { ", back to " (when(from)) } @else { ", which are all of it" }
                ". Finished jobs are not counted, and jobs that were deleted since are missing."
            }
        }
        @if past.uncertain > 0 {
            p.hint { "Jobs changed while they were counted: each number may be wrong by " (count(past.uncertain)) "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_full_minute_within_reach() {
        let now = time("2026-11-18T20:05:30Z").expect("it is a time");
        assert_eq!(shown(now), "2026-11-18 at 20:05 UTC");
        assert_eq!(time("1795032330"), Some(now));
        assert_eq!(["", "-1", "yesterday", "999999999999999"].map(time), [None; 4]);
        assert_eq!(within_reach(now, now), Timestamp(now.0 - 30_000));
        assert_eq!(within_reach(now + Millis(MINUTE), now), Timestamp(now.0 - 30_000), "not in the future");
        let first = within_reach(Timestamp(0), now);
        assert!((now - first).0 < REACH_MAX.0 && first.0 % MINUTE as i64 == 0);
    }
}
