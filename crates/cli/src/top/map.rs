//! The lifecycles with the number of jobs in each state.

use serde_json::Value;
use tenure_core::lifecycle::{Figures, Lifecycle, State, StateFigures};
use tenure_core::time::Millis;
use tenure_core::words::grouped;

use super::asking::Ask;
use super::rows::Move;
use crate::show::{self, text};

/// One lifecycle, chosen among all.
#[derive(Default)]
pub(super) struct Map {
    /// All of them, and how many jobs each has.
    pub(super) names: Vec<(String, u64)>,
    /// The one that was asked for; none is whichever has the most jobs.
    wanted: Option<String>,
    pub(super) lifecycle: Option<Lifecycle>,
    stats: Value,
    /// Why there are no numbers.
    pub(super) refused: Option<String>,
    /// Which state, by rank.
    pub(super) cursor: usize,
}

impl Map {
    pub(super) fn ask(&self) -> Ask {
        let known = self.lifecycle.as_ref().map(|it| (it.name.to_string(), it.version));
        Ask::Map { wanted: self.wanted.clone(), known }
    }

    pub(super) fn take(&mut self, answer: &mut Value) {
        self.stats = answer["stats"].take();
        self.refused = answer["refused"].as_str().map(str::to_owned);
        let names = answer["lifecycles"].as_array().into_iter().flatten();
        self.names =
            names.map(|it| text(&it["name"])).map(|name| (name.clone(), total(&self.stats, &name))).collect();
        if let Some(source) = answer["source"].as_str() {
            self.lifecycle = Lifecycle::parse(source).ok();
            self.cursor = 0;
        }
        if self.wanted.is_none() {
            self.wanted = self.lifecycle.as_ref().map(|it| it.name.to_string());
        }
    }

    /// The lifecycle so many places further on, in a ring.
    pub(super) fn turn(&mut self, by: isize) {
        let at = self.names.iter().position(|(name, _)| Some(name) == self.wanted.as_ref()).unwrap_or(0);
        let count = self.names.len() as isize;
        if count > 0 {
            self.wanted = Some(self.names[(at as isize + by).rem_euclid(count) as usize].0.clone());
        }
    }

    /// Whether this one is shown, or about to be.
    pub(super) fn is_chosen(&self, name: &str) -> bool {
        self.wanted.as_deref() == Some(name)
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

    /// The jobs of the state under the cursor.
    pub(super) fn filter(&self) -> Option<String> {
        let lifecycle = self.lifecycle.as_ref()?;
        let state = lifecycle.by_rank().get(self.cursor)?.name.clone();
        Some(format!("lifecycle:{} state:{state}", lifecycle.name))
    }

    /// What is known of each state of the lifecycle that is shown.
    pub(super) fn figures(&self) -> Figures {
        let Some(lifecycle) = self.lifecycle.as_ref().filter(|_| !self.stats.is_null()) else {
            return Figures::default();
        };
        let of = |plural, member: &'static str, state: &State| {
            let (name, state) = (lifecycle.name.to_string(), state.name.to_string());
            rows(&self.stats, plural).filter(move |it| it["lifecycle"] == *name && it[member] == *state)
        };
        let one = |state: &State| {
            let mut counts = of("counts", "state", state).filter_map(|it| it["count"].as_u64()).sum();
            let mut figures = StateFigures::default();
            for known in of("states", "state", state) {
                counts = known["count"].as_u64().unwrap_or(counts);
                figures.oldest = Some(show::age(&known["oldest_since"])).filter(|age| !age.is_empty());
                figures.p95 = known["p95_ms"].as_u64().map(|ms| show::coarse(Millis(ms)));
            }
            let arriving: f64 =
                of("transitions", "to", state).filter_map(|it| it["per_minute"].as_f64()).sum();
            figures.arriving = (arriving > 0.0).then(|| rate(arriving));
            StateFigures { count: Some(grouped(counts)), ..figures }
        };
        let states = lifecycle.states.iter().map(|state| (state.name.clone(), one(state)));
        Figures { states: states.collect(), ..Figures::default() }
    }

    /// What somebody should look at.
    pub(super) fn attention(&self) -> Vec<String> {
        rows(&self.stats, "attention").map(|it| text(&it["text"])).collect()
    }

    /// Whether there are more numbers than counts.
    pub(super) fn has_times(&self) -> bool {
        self.stats["states"].is_array()
    }
}

fn rows<'v>(stats: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    stats[name].as_array().into_iter().flatten()
}

fn total(stats: &Value, lifecycle: &str) -> u64 {
    let counts = rows(stats, "counts").filter(|it| it["lifecycle"] == lifecycle);
    counts.filter_map(|it| it["count"].as_u64()).sum()
}

/// The lifecycle with the most jobs, the first among equals.
pub(super) fn busiest(lifecycles: &Value, stats: &Value) -> Option<String> {
    let names = lifecycles.as_array()?.iter().map(|it| text(&it["name"]));
    names.rev().max_by_key(|name| total(stats, name))
}

/// `+118/min`, with a tenth where that is much of it.
fn rate(per_minute: f64) -> String {
    if per_minute < 10.0 { format!("+{per_minute:.1}/min") } else { format!("+{per_minute:.0}/min") }
}
