//! What a map shows besides the lifecycle: texts formatted by the caller, and links.

use std::collections::BTreeMap;

use tenure_core::id::StateName;

/// The longest count: `999,999,999`.
pub(crate) const COUNT_MAX: usize = 11;

/// The values shown on a map. A missing value is drawn as missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapValues {
    pub states: BTreeMap<StateName, StateValues>,
    /// By the two states that an arrow connects.
    pub arrows: BTreeMap<(StateName, StateName), ArrowValues>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateValues {
    /// Jobs in the state: `1,204`, at most 11 characters.
    pub count: Option<String>,
    /// Recent counts for the sparkline, newest last.
    pub trend: Vec<f64>,
    /// Time since the oldest job entered the state: `28 s`, at most 10 characters.
    pub oldest: Option<String>,
    /// 95th percentile of the time spent in the state: `80 ms`, at most 10 characters.
    pub p95: Option<String>,
    /// Arrivals in a final state: `+118/min`, at most 10 characters.
    pub arriving: Option<String>,
    /// Whether the oldest job is past, or close to, the state's timeout.
    pub late: bool,
    /// On [`MapStyle::Path`], the time that the job spent in the state: `41 s`, at most 14 characters.
    pub spent: Option<String>,
    /// On [`MapStyle::Path`], whether the job has been in the state.
    pub taken: bool,
    /// On [`MapStyle::Path`], whether the job is in the state now.
    pub here: bool,
}

/// Values of an arrow, which stands for all rules from one state to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrowValues {
    /// Transitions per time: `120/min`, at most 9 characters.
    pub rate: Option<String>,
    /// Relative line width from 0 to 1, for example scaled from the logarithm of the rate.
    pub weight: f64,
    /// On [`MapStyle::Path`], whether the job followed it.
    pub taken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapStyle {
    /// All values, and the rules of each arrow.
    Full,
    /// Names and counts.
    Small,
    /// The path of one job, highlighted, with the time it spent in each state.
    Path,
}

/// Link targets on a map.
pub struct MapLinks<'f> {
    /// The jobs in a state.
    pub state: &'f dyn Fn(&StateName) -> String,
    /// The transitions from one state to another.
    pub arrow: &'f dyn Fn(&StateName, &StateName) -> String,
}

impl MapValues {
    pub(crate) fn state(&self, name: &StateName) -> StateValues {
        self.states.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn arrow(&self, from: &StateName, to: &StateName) -> ArrowValues {
        self.arrows.get(&(from.clone(), to.clone())).cloned().unwrap_or_default()
    }
}

/// The text, cut to `length` characters with an ellipsis.
pub(crate) fn fit(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length - 1).chain(['…']).collect()
}
