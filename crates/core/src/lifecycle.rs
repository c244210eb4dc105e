//! A checked lifecycle: states, rules and policies as data. [`Lifecycle::parse`] is the only way to get one, so
//! whoever holds one holds a machine without traps, endless waits or steps backwards (L1 to L12).
//!
//! Nothing here knows a job; `decide` asks which rule applies.

mod check;
mod derive;
mod diff;
mod flaw;
mod parse;
mod policy;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use derive::{LongestLife, Wait};
pub use diff::{Change, ChangeKind, Diff, diff};
pub use flaw::{Flaw, Place, RuleId};
pub use policy::{Api, Backoff, Credits, Idempotency, Jitter, Policy, Retention};

use crate::dead_letter::ReasonCode;
use crate::id::Name;
use crate::time::Millis;

/// A declared state machine, proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifecycle {
    /// `[a-z][a-z0-9_-]*`.
    pub name: Name,
    /// A job keeps the version it was created under.
    pub version: u32,
    /// One sentence.
    pub about: String,
    /// The ready state that `create` leads to.
    pub initial: Name,
    /// In file order.
    pub states: Vec<State>,
    /// In file order, lists written out: one trigger, one from-state each.
    pub rules: Vec<Rule>,
    /// Defaults that a type may override.
    pub policy: Policy,
    /// Only where jobs cost something.
    pub credits: Option<Credits>,
    /// How creation finds the job that is already there.
    pub idempotency: Idempotency,
    /// How long what is finished is kept.
    pub retention: Retention,
    /// Its own door, in its own words.
    pub api: Option<Api>,
    /// The file.
    pub source: String,
}

/// Where a job can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// `[a-z][a-z0-9_]*`.
    pub name: Name,
    /// Its role, or that it is final.
    pub phase: Phase,
    /// When `timeout` fires, counted from entry.
    pub timeout: Timeout,
    /// An old name, accepted and also spoken.
    pub alias: Option<Name>,
    /// Its place in the order that every attempt follows.
    pub rank: u32,
}

/// What a state says about waiting in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Nothing.
    Unsaid,
    /// `timeout = "never"`: for ever, on purpose.
    Never,
    /// Fires this long after entry.
    After(Millis),
}

/// A role, or final with an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// May be claimed once `run_at` has come.
    Ready,
    /// Leased, not started.
    Held,
    /// Leased, running.
    Active,
    /// Owned by no one until its due time.
    Waiting,
    /// Over.
    Final(Outcome),
}

/// What a final state means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the spec's, and say all there is")]
pub enum Outcome {
    Succeeded,
    Partial,
    Failed,
    Cancelled,
    Rejected,
    Dead,
}

/// One declared line: trigger and from-state (and condition) to state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What happened.
    pub on: Trigger,
    /// Where; `None` for `create` alone.
    pub from: Option<Name>,
    /// Only if.
    pub when: Option<Condition>,
    /// Where to.
    pub to: Name,
    /// The name of the event that records it.
    pub event: Name,
    /// Also writes an audit line of this name.
    pub audit: Option<Name>,
    /// The dead letter's reason code.
    pub reason: Option<ReasonCode>,
}

/// When a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The error is transient and attempts are left.
    Retry,
    /// The error is transient and none is left.
    Exhausted,
}

/// What happened, the clock's doings included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the spec's, and say all there is")]
pub enum Trigger {
    Create,
    Claim,
    Start,
    Succeed,
    Partial,
    Fail,
    Reject,
    Release,
    Cancel,
    DeadLetter,
    Timeout,
    LeaseExpired,
    Due,
    Disconnected,
    /// One that the lifecycle itself declares.
    Signal(Name),
}

impl Lifecycle {
    /// Reads and proves a file: the lifecycle, or every flaw at once.
    pub fn parse(source: &str) -> Result<Self, Vec<Flaw>> {
        let draft = parse::draft(source)?;
        check::check(draft, source)
    }

    /// The five that are built in.
    pub fn built_in() -> Vec<Self> {
        BUILT_IN
            .iter()
            .map(|source| {
                Self::parse(source).expect("the built-in lifecycles pass their check; a test says so")
            })
            .collect()
    }

    /// The state of this name.
    pub fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|state| state.name == name)
    }

    /// The first rule for `on` from `from` whose condition holds.
    pub fn rule(&self, from: &str, on: &Trigger, holds: impl Fn(Condition) -> bool) -> Option<&Rule> {
        self.rules_for(from, on).find(|rule| rule.when.is_none_or(&holds))
    }

    /// Whether any rule leads from `from` by `on`.
    pub fn has_rule(&self, from: &str, on: &Trigger) -> bool {
        self.rules_for(from, on).next().is_some()
    }

    /// The one rule for `create`.
    pub fn create_rule(&self) -> &Rule {
        self.rules.iter().find(|rule| rule.on == Trigger::Create).expect("L2: there is one create rule")
    }

    /// Every trigger that has a rule from here, the clock's too, in file order.
    pub fn allowed(&self, from: &str) -> Vec<Trigger> {
        let mut found = Vec::new();
        for rule in &self.rules {
            if rule.from.as_ref().is_some_and(|name| name == from) && !found.contains(&rule.on) {
                found.push(rule.on.clone());
            }
        }
        found
    }

    fn rules_for<'a, 'b>(
        &'a self,
        from: &'b str,
        on: &'b Trigger,
    ) -> impl Iterator<Item = &'a Rule> + use<'a, 'b> {
        self.rules
            .iter()
            .filter(move |rule| rule.on == *on && rule.from.as_ref().is_some_and(|name| name == from))
    }
}

/// The built-in files, in the order in which they are listed.
pub const BUILT_IN: [&str; 5] = [
    include_str!("../../../lifecycles/distributed.toml"),
    include_str!("../../../lifecycles/engine.toml"),
    include_str!("../../../lifecycles/image.toml"),
    include_str!("../../../lifecycles/pattern.toml"),
    include_str!("../../../lifecycles/so1.toml"),
];

impl Phase {
    /// Whether a lease is held in it.
    pub fn is_leased(self) -> bool {
        matches!(self, Self::Held | Self::Active)
    }

    /// Whether it is over.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Final(_))
    }

    /// The outcome, if it is over.
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Final(outcome) => Some(outcome),
            Self::Ready | Self::Held | Self::Active | Self::Waiting => None,
        }
    }

    /// `ready held active waiting final`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Held => "held",
            Self::Active => "active",
            Self::Waiting => "waiting",
            Self::Final(_) => "final",
        }
    }

    /// The way back of [`Phase::as_str`] and [`Outcome::as_str`].
    pub fn parse(phase: &str, outcome: Option<&str>) -> Option<Self> {
        match (phase, outcome) {
            ("ready", None) => Some(Self::Ready),
            ("held", None) => Some(Self::Held),
            ("active", None) => Some(Self::Active),
            ("waiting", None) => Some(Self::Waiting),
            ("final", Some(outcome)) => Outcome::parse(outcome).map(Self::Final),
            _ => None,
        }
    }
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Succeeded, Self::Partial, Self::Failed, Self::Cancelled, Self::Rejected, Self::Dead];

    /// Its name in files and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
            Self::Dead => "dead",
        }
    }

    /// By its name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

impl Trigger {
    /// All but the signals.
    pub const ALL: [Self; 14] = [
        Self::Create,
        Self::Claim,
        Self::Start,
        Self::Succeed,
        Self::Partial,
        Self::Fail,
        Self::Reject,
        Self::Release,
        Self::Cancel,
        Self::DeadLetter,
        Self::Timeout,
        Self::LeaseExpired,
        Self::Due,
        Self::Disconnected,
    ];

    /// By its name in a file: `lease_expired`, `signal:approve`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(signal) = text.strip_prefix("signal:") {
            return is_state_name(signal).then(|| Self::Signal(signal.into()));
        }
        Self::ALL.into_iter().find(|trigger| trigger.plain() == text)
    }

    fn plain(&self) -> &str {
        match self {
            Self::Create => "create",
            Self::Claim => "claim",
            Self::Start => "start",
            Self::Succeed => "succeed",
            Self::Partial => "partial",
            Self::Fail => "fail",
            Self::Reject => "reject",
            Self::Release => "release",
            Self::Cancel => "cancel",
            Self::DeadLetter => "dead_letter",
            Self::Timeout => "timeout",
            Self::LeaseExpired => "lease_expired",
            Self::Due => "due",
            Self::Disconnected => "disconnected",
            Self::Signal(name) => name.as_str(),
        }
    }
}

/// `[a-z][a-z0-9_]*`, and not too long.
pub(crate) fn is_state_name(text: &str) -> bool {
    text.len() <= crate::limits::NAME_BYTES_MAX
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self, Self::Signal(_)) {
            f.write_str("signal:")?;
        }
        f.write_str(self.plain())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retry => "retry",
            Self::Exhausted => "exhausted",
        })
    }
}

impl Serialize for Trigger {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Trigger {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a trigger")))
    }
}
