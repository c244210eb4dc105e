//! The lifecycle view: one lifecycle with the number of jobs in each state.

use tenure_api::{LifecycleSummary, Stats};
use tenure_core::lifecycle::{Lifecycle, State};
use tenure_core::text::grouped;
use tenure_core::time::Millis;
use tenure_diagram::{MapValues, StateValues};

use super::fetch::MapData;
use super::rows::Move;
use crate::show::{self, text};

#[derive(Default)]
pub(super) struct LifecycleMap {
    /// All lifecycles and their numbers of jobs.
    pub(super) names: Vec<(String, u64)>,
    /// `None`: the lifecycle with the most jobs.
    pub(super) selected: Option<String>,
    pub(super) lifecycle: Option<Lifecycle>,
    pub(super) stats: Option<Stats>,
    /// Why there are no statistics.
    pub(super) refusal: Option<String>,
    /// The index of the selected state, by rank.
    pub(super) cursor: usize,
}

impl LifecycleMap {
    /// The name and version of the lifecycle whose source was fetched.
    pub(super) fn known(&self) -> Option<(String, u32)> {
        self.lifecycle.as_ref().map(|it| (it.name.to_string(), it.version))
    }

    pub(super) fn update(&mut self, data: MapData) {
        self.stats = data.stats;
        self.refusal = data.refusal;
        let stats = self.stats.as_ref();
        self.names = data.lifecycles.iter().map(|it| (text(&it.name), total(stats, &it.name))).collect();
        if let Some(source) = data.source {
            self.lifecycle = Lifecycle::parse(&source).ok();
            self.cursor = 0;
        }
        if self.selected.is_none() {
            self.selected = self.lifecycle.as_ref().map(|it| it.name.to_string());
        }
    }

    /// Selects another lifecycle, relative to the current one; after the last comes the first.
    pub(super) fn turn(&mut self, by: isize) {
        let at = self.names.iter().position(|(name, _)| Some(name) == self.selected.as_ref()).unwrap_or(0);
        let count = self.names.len() as isize;
        if count > 0 {
            self.selected = Some(self.names[(at as isize + by).rem_euclid(count) as usize].0.clone());
        }
    }

    pub(super) fn step(&mut self, to: Move) {
        let last = self.lifecycle.as_ref().map_or(0, |it| it.states.len().saturating_sub(1));
        self.cursor = match to {
            Move::Up => self.cursor.saturating_sub(1),
            Move::Down => last.min(self.cursor + 1),
            Move::PageUp | Move::First => 0,
            Move::PageDown | Move::Last => last,
        };
    }

    /// The filter for jobs in the selected state.
    pub(super) fn filter(&self) -> Option<String> {
        let lifecycle = self.lifecycle.as_ref()?;
        let state = lifecycle.by_rank().get(self.cursor)?.name.clone();
        Some(format!("lifecycle:{} state:{state}", lifecycle.name))
    }

    /// The numbers of each state of the selected lifecycle.
    pub(super) fn values(&self) -> MapValues {
        let (Some(lifecycle), Some(stats)) = (&self.lifecycle, &self.stats) else {
            return MapValues::default();
        };
        let states = lifecycle.states.iter();
        let states = states.map(|state| (state.name.clone(), state_values(stats, lifecycle, state)));
        MapValues { states: states.collect(), ..MapValues::default() }
    }

    /// What needs attention.
    pub(super) fn attention(&self) -> impl Iterator<Item = String> {
        self.stats.iter().flat_map(|stats| &stats.attention).map(|it| text(&it.text))
    }
}

fn state_values(stats: &Stats, lifecycle: &Lifecycle, state: &State) -> StateValues {
    let is_here = |name: &str, other: &str| name == lifecycle.name.as_str() && other == state.name.as_str();
    let mut values = StateValues::default();
    let counts = stats.counts.iter().filter(|it| is_here(&it.lifecycle, &it.state));
    let mut count = counts.map(|it| it.count).sum();
    for it in stats.states.iter().filter(|it| is_here(&it.lifecycle, &it.state)) {
        count = it.count;
        values.oldest = Some(show::age(it.oldest_since.as_ref())).filter(|age| !age.is_empty());
        values.p95 = it.p95_ms.map(|ms| show::short_duration(Millis(ms)));
    }
    let arriving = stats.transitions.iter().filter(|it| is_here(&it.lifecycle, &it.to));
    let arriving: f64 = arriving.map(|it| it.per_minute).sum();
    values.arriving = (arriving > 0.0).then(|| rate(arriving));
    StateValues { count: Some(grouped(count)), ..values }
}

fn total(stats: Option<&Stats>, lifecycle: &str) -> u64 {
    let counts = stats.into_iter().flat_map(|stats| &stats.counts);
    counts.filter(|it| it.lifecycle == lifecycle).map(|it| it.count).sum()
}

/// The lifecycle with the most jobs, the first among equals.
pub(super) fn busiest(lifecycles: &[LifecycleSummary], stats: Option<&Stats>) -> Option<String> {
    lifecycles.iter().rev().map(|it| &it.name).max_by_key(|name| total(stats, name)).cloned()
}

/// `+118/min`; below ten, with one decimal.
fn rate(per_minute: f64) -> String {
    if per_minute < 10.0 { format!("+{per_minute:.1}/min") } else { format!("+{per_minute:.0}/min") }
}
