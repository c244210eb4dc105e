//! The lifecycles with the number of jobs in each state.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::lifecycle::Lifecycle;

use super::asking::Ask;
use super::rows::Move;
use crate::show::{self, text};

/// What is known of one state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) count: u64,
    /// How long its oldest job has been there.
    pub(super) oldest: String,
    /// How long most jobs stay.
    pub(super) p95: String,
    /// Jobs that came, each minute.
    pub(super) entering: Option<f64>,
}

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
    pub(super) fn figures(&self) -> BTreeMap<String, Figures> {
        let mut found: BTreeMap<String, Figures> = BTreeMap::new();
        let Some(name) = self.lifecycle.as_ref().map(|it| it.name.to_string()) else { return found };
        for count in rows(&self.stats, "counts").filter(|it| it["lifecycle"] == *name) {
            found.entry(text(&count["state"])).or_default().count += count["count"].as_u64().unwrap_or(0);
        }
        for state in rows(&self.stats, "states").filter(|it| it["lifecycle"] == *name) {
            let figures = found.entry(text(&state["state"])).or_default();
            figures.count = state["count"].as_u64().unwrap_or(figures.count);
            figures.oldest = show::age(&state["oldest_since"]);
            let p95 = state["p95_ms"].as_u64().map(|ms| show::coarse(tenure_core::time::Millis(ms)));
            figures.p95 = p95.unwrap_or_default();
        }
        for moved in rows(&self.stats, "transitions").filter(|it| it["lifecycle"] == *name) {
            let figures = found.entry(text(&moved["to"])).or_default();
            figures.entering =
                Some(figures.entering.unwrap_or(0.0) + moved["per_minute"].as_f64().unwrap_or(0.0));
        }
        found
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
