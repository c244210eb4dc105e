//! The way that a job took, from its events alone: each stay in a state, and the map with that way lit.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use tenure_core::event::Event;
use tenure_core::id::StateName;
use tenure_core::lifecycle::{Lifecycle, Phase};
use tenure_core::time::{Millis, Timestamp};
use tenure_diagram::{
    ArrowValues, Fragment, MapLinks, MapStyle, MapValues, StateValues, map_fragments, map_svg,
};
use tenure_service::links::jobs_in;

use crate::Parts;
use crate::format::{span, state};

/// A stay in a state.
#[derive(Clone, Copy)]
pub(super) struct Stay<'e> {
    /// The event that led into it.
    pub(super) by: &'e Event,
    /// The event that led out of it, if it is over.
    pub(super) out: Option<&'e Event>,
}

impl Stay<'_> {
    pub(super) fn phase(&self) -> Phase {
        self.by.facts.phase()
    }

    pub(super) fn from(&self) -> Timestamp {
        self.by.ts
    }

    /// How long, if it is over. A clock that was set back makes it zero, never less.
    pub(super) fn lasted(&self) -> Option<Millis> {
        self.out.map(|out| out.ts - self.by.ts)
    }
}

/// Every stay, in order; the final one too, which has no end.
pub(super) fn stays(events: &[Event]) -> Vec<Stay<'_>> {
    let steps: Vec<&Event> = events.iter().filter(|event| event.seq.is_some()).collect();
    let next = steps.iter().skip(1).map(|event| Some(*event)).chain([None]);
    steps.iter().zip(next).map(|(by, out)| Stay { by, out }).collect()
}

/// A state by its name.
pub(super) fn place(lifecycle: &Lifecycle, name: &StateName) -> Markup {
    let known = lifecycle.state(name.as_str());
    known.map_or_else(|| html! { (name) }, |known| state(name.as_str(), known.phase))
}

/// The map with the way lit, and how long the job was where. Nothing on it moves when that changes.
pub(super) fn map(lifecycle: &Lifecycle, stays: &[Stay<'_>], parts: &mut Parts) -> Markup {
    let figures = figures(stays);
    for Fragment { id, markup } in map_fragments(lifecycle, MapStyle::Path, &figures) {
        parts.keep(id, PreEscaped(markup));
    }
    let of_state = |state: &StateName| jobs_in(&lifecycle.name, state);
    let links = MapLinks { state: &of_state, arrow: &|_, _| "#history".to_owned() };
    let map = map_svg(lifecycle, MapStyle::Path, &figures, &links);
    html! { div.wide.way tabindex="0" role="region" aria-label="The way that the job took" { (PreEscaped(map)) } }
}

fn figures(stays: &[Stay<'_>]) -> MapValues {
    let mut figures = MapValues::default();
    let mut visits: BTreeMap<&StateName, (u32, Millis)> = BTreeMap::new();
    for stay in stays {
        let (count, spent) = visits.entry(&stay.by.to).or_default();
        *count += 1;
        *spent = Millis(spent.0.saturating_add(stay.lasted().unwrap_or_default().0));
        if let Some(from) = &stay.by.from {
            let arrow = figures.arrows.entry((from.clone(), stay.by.to.clone())).or_default();
            *arrow = ArrowValues { taken: true, ..ArrowValues::default() };
        }
    }
    for (state, (count, spent)) in visits {
        let is_over =
            spent > Millis(0) || stays.iter().any(|stay| stay.by.to == *state && stay.out.is_some());
        let times = if count > 1 { format!(", {count}×") } else { String::new() };
        let shown = StateValues {
            spent: is_over.then(|| format!("{}{times}", span(spent))),
            taken: true,
            here: stays.last().is_some_and(|last| last.by.to == *state),
            ..StateValues::default()
        };
        figures.states.insert(state.clone(), shown);
    }
    figures
}
