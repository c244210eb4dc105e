//! The path of a job through its lifecycle, from its events: each stay in a state, and the map with the path marked.

use std::collections::BTreeMap;

use tenure_core::id::StateName;
use tenure_core::lifecycle::Trigger;
use tenure_diagram::{ArrowValues, MapLinks, MapStyle, MapValues, StateValues};
use tenure_service::links::jobs_in;

use crate::map;
use crate::prelude::*;

#[derive(Clone, Copy)]
pub(super) struct Stay<'e> {
    /// The event that began it.
    pub(super) by: &'e Event,
    /// The event that ended it.
    pub(super) out: Option<&'e Event>,
}

impl Stay<'_> {
    pub(super) fn phase(&self) -> Phase {
        self.by.facts.phase()
    }

    pub(super) fn from(&self) -> Timestamp {
        self.by.ts
    }

    /// Its duration, if it has ended. Zero if the clock was set back.
    pub(super) fn lasted(&self) -> Option<Millis> {
        self.out.map(|out| out.ts - self.by.ts)
    }
}

/// Every stay in order, including the final one, which has no end.
pub(super) fn stays(events: &[Event]) -> Vec<Stay<'_>> {
    let is_step = |event: &&Event| event.seq.is_some() && event.trigger != Trigger::Amend;
    let steps: Vec<&Event> = events.iter().filter(is_step).collect();
    let next = steps.iter().skip(1).map(|event| Some(*event)).chain([None]);
    steps.iter().zip(next).map(|(by, out)| Stay { by, out }).collect()
}

pub(super) fn state_of(lifecycle: &Lifecycle, name: &StateName) -> Markup {
    let known = lifecycle.state(name.as_str());
    known.map_or_else(|| html! { (name) }, |known| state(name.as_str(), known.phase))
}

/// The map with the path marked and the time spent in each state.
pub(super) fn map(lifecycle: &Lifecycle, stays: &[Stay<'_>], parts: &mut Parts) -> Markup {
    let of_state = |state: &StateName| jobs_in(&lifecycle.name, state);
    let links = MapLinks { state: &of_state, arrow: &|_, _| "#history".to_owned() };
    let map = map::draw(lifecycle, MapStyle::Path, &values(stays), &links, parts);
    html! { div.wide.way tabindex="0" role="region" aria-label="Path of the job" { (map) } }
}

fn values(stays: &[Stay<'_>]) -> MapValues {
    let mut values = MapValues::default();
    let mut visits: BTreeMap<&StateName, (u32, Millis)> = BTreeMap::new();
    for stay in stays {
        let (count, spent) = visits.entry(&stay.by.to).or_default();
        *count += 1;
        *spent = Millis(spent.0.saturating_add(stay.lasted().unwrap_or_default().0));
        if let Some(from) = &stay.by.from {
            let arrow = values.arrows.entry((from.clone(), stay.by.to.clone())).or_default();
            *arrow = ArrowValues { taken: true, ..ArrowValues::default() };
        }
    }
    for (state, (count, spent)) in visits {
        let has_ended =
            spent > Millis(0) || stays.iter().any(|stay| stay.by.to == *state && stay.out.is_some());
        let times = if count > 1 { format!(", {count}×") } else { String::new() };
        let shown = StateValues {
            spent: has_ended.then(|| format!("{}{times}", span(spent))),
            taken: true,
            here: stays.last().is_some_and(|last| last.by.to == *state),
            ..StateValues::default()
        };
        values.states.insert(state.clone(), shown);
    }
    values
}
