//! The live map of a lifecycle: the diagram with current statistics.

use maud::PreEscaped;
use tenure_core::id::LifecycleName;
use tenure_core::lifecycle::{State, Timeout};
use tenure_diagram::{
    ArrowValues, Fragment, MapLinks, MapStyle, MapValues, StateValues, map_fragments, map_svg,
};
use tenure_service::links::jobs_in;
use tenure_stats::snapshot::{LifecycleNow, Snapshot, StateNow};

pub(crate) use crate::figures::rate;
use crate::prelude::*;

/// Transitions a minute at which a line is as wide as lines get.
const RATE_WIDEST: f64 = 100_000.0;

/// Draws a lifecycle, and keeps its numbers true.
pub(crate) fn map(lifecycle: &Lifecycle, snapshot: &Snapshot, look: MapStyle, parts: &mut Parts) -> Markup {
    linked(lifecycle, look, &values(lifecycle, snapshot), parts)
}

/// Draws a map that leads to the jobs of each state and to the events of each arrow.
pub(crate) fn linked(lifecycle: &Lifecycle, look: MapStyle, values: &MapValues, parts: &mut Parts) -> Markup {
    let name = encode(lifecycle.name.as_str());
    let links = MapLinks {
        state: &|state| jobs_in(&lifecycle.name, state),
        arrow: &|from, to| {
            let (from, to) = (encode(from.as_str()), encode(to.as_str()));
            format!("/ui/events?lifecycle={name}&from={from}&to={to}")
        },
    };
    draw(lifecycle, look, values, &links, parts)
}

/// Draws a map, and keeps every element that depends on the values.
pub(crate) fn draw(
    lifecycle: &Lifecycle,
    style: MapStyle,
    values: &MapValues,
    links: &MapLinks<'_>,
    parts: &mut Parts,
) -> Markup {
    for Fragment { id, markup } in map_fragments(lifecycle, style, values) {
        parts.keep(id, PreEscaped(markup));
    }
    // The diagram escapes every name.
    PreEscaped(map_svg(lifecycle, style, values, links))
}

/// What is known of a lifecycle, as its map shows it.
fn values(lifecycle: &Lifecycle, snapshot: &Snapshot) -> MapValues {
    let mut values = MapValues::default();
    let Some(now) = snapshot.lifecycles.iter().find(|it| it.name == lifecycle.name) else { return values };
    for state in &now.states {
        let declared = lifecycle.state(state.name.as_str());
        let mut shown = state_values(state, declared, now, snapshot.at);
        shown.count = shown.count.filter(|_| snapshot.finished_known || !state.phase.is_final());
        values.states.insert(state.name.clone(), shown);
    }
    for step in &now.transitions {
        let Some(from) = &step.from else { continue };
        let arrow: &mut ArrowValues = values.arrows.entry((from.clone(), step.to.clone())).or_default();
        // Several rules may share an arrow: the weight is the sum of their rates until it is scaled below.
        arrow.weight += step.per_minute;
    }
    for arrow in values.arrows.values_mut() {
        arrow.rate = (arrow.weight > 0.0).then(|| rate(arrow.weight));
        arrow.weight = arrow.weight.ln_1p() / RATE_WIDEST.ln_1p();
    }
    values
}

fn state_values(
    state: &StateNow,
    declared: Option<&State>,
    all: &LifecycleNow,
    now: Timestamp,
) -> StateValues {
    let age = state.oldest_since.map(|since| now - since);
    let arrivals = all.transitions.iter().filter(|step| step.to == state.name);
    let arriving: f64 = arrivals.map(|step| step.per_minute).sum();
    StateValues {
        count: Some(count(state.count)),
        trend: state.trend.iter().map(|came| *came as f64).collect(),
        oldest: age.map(span),
        p95: state.p95_ms.map(|ms| span(Millis(ms))),
        arriving: (state.phase.is_final() && arriving > 0.0).then(|| format!("+{}", rate(arriving))),
        late: is_late(state, declared, now),
        ..StateValues::default()
    }
}

/// Whether the oldest job has used 80 % of the state's timeout, or has been there far longer than usual.
pub(crate) fn is_late(state: &StateNow, declared: Option<&State>, now: Timestamp) -> bool {
    let is_near_timeout = match (declared.map(|state| state.timeout), state.oldest_since) {
        (Some(Timeout::After(end)), Some(since)) => (now - since).0 * 5 >= end.0 * 4,
        _ => false,
    };
    is_near_timeout || state.overlong.is_some()
}

pub(crate) fn address(lifecycle: &LifecycleName) -> String {
    format!("/ui/lifecycles/{}", encode(lifecycle.as_str()))
}
