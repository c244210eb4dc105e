//! A checked lifecycle: states, rules and policies as data.
//!
//! [`Lifecycle::parse`] is the only constructor, so every value follows L1 to L12: no traps, no unlimited waits, no
//! moves backwards. Nothing here knows a job; `decide` asks which rule applies.

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
pub use flaw::{Flaw, Location, RuleId};
pub use policy::{Api, Backoff, Credits, Idempotency, Jitter, Policy, Retention};

use crate::api_key::Role;
use crate::dead_letter::ReasonCode;
use crate::id::{LifecycleName, Name, StateName};
use crate::time::Millis;

/// A declared and checked state machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifecycle {
    /// `[a-z][a-z0-9_-]*`.
    pub name: LifecycleName,
    /// A job keeps the version it was created under.
    pub version: u32,
    pub about: String,
    /// The ready or waiting state that `create` leads to.
    pub initial: StateName,
    /// In file order.
    pub states: Vec<State>,
    /// In file order, lists expanded: one trigger and one from-state each.
    pub rules: Vec<Rule>,
    pub policy: Policy,
    /// Only where jobs cost something.
    pub credits: Option<Credits>,
    pub idempotency: Idempotency,
    pub retention: Retention,
    pub api: Option<Api>,
    /// The text of the file.
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// `[a-z][a-z0-9_]*`.
    pub name: StateName,
    pub phase: Phase,
    pub timeout: Timeout,
    /// An old name, accepted in queries and also sent.
    pub alias: Option<StateName>,
    /// Within an attempt, every transition leads to a higher rank.
    pub rank: u32,
}

/// When the trigger `timeout` fires, counted from entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// There is no `timeout`.
    Unset,
    /// `timeout = "never"`: jobs may wait indefinitely.
    Never,
    After(Millis),
}

/// A role, or final with an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// May be claimed once `run_at` has passed.
    Ready,
    /// Leased, not started.
    Held,
    /// Leased, running.
    Active,
    /// Not leased; waits for its due time, a timeout or a signal.
    Waiting,
    Final(Outcome),
}

named! {
    /// What a final state means.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        Succeeded = "succeeded",
        Partial = "partial",
        Failed = "failed",
        Cancelled = "cancelled",
        Rejected = "rejected",
        Dead = "dead",
    }
}

impl Outcome {
    /// Whether the job's work was done, at least in part.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Succeeded | Self::Partial)
    }

    /// Whether the job failed. A job that was cancelled or rejected has neither succeeded nor failed.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Dead)
    }
}

/// One declared rule: from a state by a trigger, perhaps under a condition, to a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub on: Trigger,
    /// `None` only for `create`.
    pub from: Option<StateName>,
    pub when: Option<Condition>,
    pub to: StateName,
    /// The name of the event that records it.
    pub event: Name,
    /// Also writes an audit line of this name.
    pub audit: Option<Name>,
    /// The dead letter's reason code.
    pub reason: Option<ReasonCode>,
    /// Only for signals: the roles that may send it, besides admins. `None`: the job's owner and operators.
    pub by: Option<Vec<Role>>,
}

named! {
    /// When a rule applies.
    pub enum Condition {
        /// The error is transient and an attempt is left.
        Retry = "retry",
        /// The error is transient and no attempt is left.
        Exhausted = "exhausted",
    }
}

/// What moves a job: a command, or the clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Changes values of a job and no state. No lifecycle declares it.
    Amend,
    /// A custom signal, declared by the lifecycle.
    Signal(Name),
}

impl Lifecycle {
    /// Reads and checks a file: the lifecycle, or all flaws at once.
    pub fn parse(source: &str) -> Result<Self, Vec<Flaw>> {
        let draft = parse::draft(source)?;
        check::check(draft, source)
    }

    pub fn built_in() -> Vec<Self> {
        BUILT_IN
            .iter()
            .map(|source| Self::parse(source).expect("the built-in lifecycles are valid, as a test checks"))
            .collect()
    }

    pub fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|state| state.name == name)
    }

    /// The first rule for `on` from `from` whose condition holds.
    pub fn rule(&self, from: &str, on: &Trigger, holds: impl Fn(Condition) -> bool) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.answers(from, on) && rule.when.is_none_or(&holds))
    }

    /// Whether any rule for `on` leaves `from`.
    pub fn has_rule(&self, from: &str, on: &Trigger) -> bool {
        self.rules.iter().any(|rule| rule.answers(from, on))
    }

    /// The one rule for `create`.
    pub fn create_rule(&self) -> &Rule {
        self.rules.iter().find(|rule| rule.on == Trigger::Create).expect("L2: there is one create rule")
    }

    /// Every trigger with a rule that leaves `from`, in file order, the clock's included.
    pub fn allowed(&self, from: &str) -> Vec<Trigger> {
        let mut found = Vec::new();
        for rule in self.rules_from(from) {
            if !found.contains(&rule.on) {
                found.push(rule.on.clone());
            }
        }
        found
    }
}

impl Rule {
    /// The roles that a signal can be restricted to: those whose callers may send signals.
    pub const SENDERS: [Role; 3] = [Role::Producer, Role::Operator, Role::Admin];

    /// Whether a caller with this role may cause it. Admins may send every signal.
    pub fn permits(&self, role: Option<Role>) -> bool {
        let Some(by) = &self.by else { return true };
        role.is_some_and(|role| role == Role::Admin || by.contains(&role))
    }

    fn answers(&self, from: &str, on: &Trigger) -> bool {
        self.on == *on && self.from.as_ref().is_some_and(|name| name == from)
    }
}

/// The built-in files, by name.
pub const BUILT_IN: [&str; 5] = [
    include_str!("../../../lifecycles/distributed.toml"),
    include_str!("../../../lifecycles/engine.toml"),
    include_str!("../../../lifecycles/image.toml"),
    include_str!("../../../lifecycles/pattern.toml"),
    include_str!("../../../lifecycles/so1.toml"),
];

impl Phase {
    pub fn is_leased(self) -> bool {
        matches!(self, Self::Held | Self::Active)
    }

    pub fn is_final(self) -> bool {
        matches!(self, Self::Final(_))
    }

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

    /// The inverse of [`Phase::as_str`] and [`Outcome::as_str`].
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

impl Trigger {
    /// All that a lifecycle can declare, but the signals.
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

    /// Parses the name in an event: `lease_expired`, `signal:approve`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(signal) = text.strip_prefix("signal:") {
            return is_state_name(signal).then(|| Self::Signal(signal.into()));
        }
        Self::ALL.into_iter().chain([Self::Amend]).find(|trigger| trigger.plain() == text)
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
            Self::Amend => "amend",
            Self::Signal(name) => name.as_str(),
        }
    }
}

/// `[a-z][a-z0-9_]*`, at most [`NAME_BYTES_MAX`](crate::limits::NAME_BYTES_MAX) bytes.
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
