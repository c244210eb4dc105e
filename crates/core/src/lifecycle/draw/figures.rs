//! What a map of a lifecycle shows beside the lifecycle itself: plain texts, made by the caller.

use std::collections::BTreeMap;

use crate::id::Name;

/// The longest count: `999,999,999`.
pub(super) const COUNT_MAX: usize = 11;

/// Everything that changes on a map. What is missing is shown as missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// By state.
    pub states: BTreeMap<Name, StateFigures>,
    /// By the two states that an arrow connects.
    pub arrows: BTreeMap<(Name, Name), ArrowFigures>,
}

/// What is known of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateFigures {
    /// Jobs in it: `1,204`, at most 11 characters.
    pub count: Option<String>,
    /// Counts of late, the newest last: the sparkline.
    pub trend: Vec<f64>,
    /// For how long its oldest job has been in it: `28 s`, at most 10 characters.
    pub oldest: Option<String>,
    /// How long 95 of 100 jobs stay at most: `80 ms`, at most 10 characters.
    pub p95: Option<String>,
    /// For a final state, how many arrive: `+118/min`, at most 10 characters.
    pub arriving: Option<String>,
    /// Whether its oldest job should have left it by now, or soon should.
    pub late: bool,
    /// On [`Look::Path`], how long the job was in it: `41 s`, at most 14 characters.
    pub spent: Option<String>,
    /// On [`Look::Path`], whether the job was in it.
    pub taken: bool,
    /// On [`Look::Path`], whether the job is in it.
    pub here: bool,
}

/// What is known of all rules from one state to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrowFigures {
    /// How many jobs take it: `120/min`, at most 9 characters.
    pub rate: Option<String>,
    /// The width of the line, from 0 to 1; the logarithm of the rate makes a good one.
    pub weight: f64,
    /// On [`Look::Path`], whether the job took it.
    pub taken: bool,
}

/// How much of it to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// All figures, and what each arrow stands for.
    Full,
    /// Names and counts.
    Small,
    /// The way of one job: what it took is lit, with the time it spent.
    Path,
}

/// Where a press on the map leads.
pub struct Links<'f> {
    /// To the jobs in a state.
    pub state: &'f dyn Fn(&Name) -> String,
    /// To the transitions from one state to another.
    pub arrow: &'f dyn Fn(&Name, &Name) -> String,
}

impl Figures {
    pub(super) fn state(&self, name: &Name) -> StateFigures {
        self.states.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn arrow(&self, from: &Name, to: &Name) -> ArrowFigures {
        self.arrows.get(&(from.clone(), to.clone())).cloned().unwrap_or_default()
    }
}

/// The text, or as much of it as there is room for.
pub(super) fn fit(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room - 1).chain(['…']).collect()
}
