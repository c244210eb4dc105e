//! Properties derived from a checked lifecycle: its transition table, and upper bounds on a job's lifetime.
//!
//! The bounds hold for the policy in the file; a type that overrides it has others. They are computed from the last
//! attempt backwards, and within an attempt from the last rank backwards, so each state is visited once per attempt.

use super::{Condition, Lifecycle, Phase, Rule, State, Timeout, Trigger};
use crate::backoff;
use crate::id::StateName;
use crate::time::Millis;

/// The longest lifetime of a job without intervention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LongestLife {
    /// The job is final after at most this time.
    Within(Millis),
    /// The job may wait indefinitely.
    Waits(Wait),
}

/// A state in which a job may wait indefinitely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub state: StateName,
    /// Whether the file declares `timeout = "never"`; otherwise it is a ready state without a timeout.
    pub declared: bool,
}

impl Lifecycle {
    /// The states by rank, the initial state first, then in file order.
    pub fn by_rank(&self) -> Vec<&State> {
        let mut states: Vec<&State> = self.states.iter().collect();
        states.sort_by_key(|state| (state.rank, state.name != self.initial));
        states
    }

    /// The transition table: the rules that leave a state, in file order.
    pub fn rules_from<'a>(&'a self, state: &'a str) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| rule.from.as_ref().is_some_and(|from| from == state))
    }

    /// Whether a new job is in a ready state, so that its first attempt begins with its creation.
    pub fn begins_ready(&self) -> bool {
        self.state(self.initial.as_str()).is_some_and(|state| state.phase == Phase::Ready)
    }

    /// Whether the rule begins an attempt: the next one, or the first if the job was not ready before.
    pub fn begins_attempt(&self, rule: &Rule) -> bool {
        rule.on != Trigger::Create
            && self.state(rule.to.as_str()).is_some_and(|state| state.phase == Phase::Ready)
    }

    /// The longest life of a job that no worker ever claims: only the clock moves it.
    pub fn longest_life_untouched(&self) -> LongestLife {
        self.longest_life(Workers::None)
    }

    /// The longest life of a job whose workers all crash. It is claimed as soon as possible, each worker crashes
    /// immediately, before or after it starts the job, and the job continues when the lease expires.
    pub fn longest_life_crashing(&self) -> LongestLife {
        self.longest_life(Workers::Crash)
    }

    fn longest_life(&self, workers: Workers) -> LongestLife {
        let by_rank = self.by_rank();
        let none =
            Lives { at_once: vec![None; self.states.len()], backed_off: vec![None; self.states.len()] };
        let mut after = none.clone();
        // Attempt 0: the job waits before it becomes ready for the first time.
        let first = u32::from(self.begins_ready());
        for attempt in (first..=self.policy.max_attempts).rev() {
            let mut lives = none.clone();
            for state in by_rank.iter().rev() {
                let walk = Walk { lifecycle: self, attempt, lives: &lives, after: &after };
                let delay = if attempt <= 1 { Millis(0) } else { walk.delay(attempt - 1) };
                let (at_once, backed_off) =
                    (walk.leave(state, workers, Millis(0)), walk.leave(state, workers, delay));
                let index = self.index(&state.name);
                lives.at_once[index] = Some(at_once);
                lives.backed_off[index] = Some(backed_off);
            }
            after = lives;
        }
        after.at_once[self.index(&self.initial)]
            .clone()
            .expect("every state of the first attempt was visited")
    }

    fn index(&self, name: &StateName) -> usize {
        self.states.iter().position(|state| state.name == *name).expect("L1: every state that is used exists")
    }
}

/// What the workers do in this scenario.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Workers {
    None,
    Crash,
}

/// The longest life from each state on, in one attempt. `None` for a state that was not visited yet.
#[derive(Clone)]
struct Lives {
    at_once: Vec<Option<LongestLife>>,
    /// The same for a ready state that is entered with a backoff.
    backed_off: Vec<Option<LongestLife>>,
}

/// The computation for one state: the lives of later states in this attempt, and of all states in the next.
struct Walk<'a> {
    lifecycle: &'a Lifecycle,
    attempt: u32,
    lives: &'a Lives,
    after: &'a Lives,
}

impl Walk<'_> {
    fn leave(&self, state: &State, workers: Workers, delay: Millis) -> LongestLife {
        let ways = match state.phase {
            Phase::Final(_) => return LongestLife::Within(Millis(0)),
            Phase::Ready => self.leave_ready(state, workers, delay),
            Phase::Held | Phase::Active => self.leave_leased(state),
            Phase::Waiting => self.leave_waiting(state),
        };
        ways.into_iter().reduce(longer).unwrap_or_else(|| {
            LongestLife::Waits(Wait { state: state.name.clone(), declared: state.timeout == Timeout::Never })
        })
    }

    fn leave_ready(&self, state: &State, workers: Workers, delay: Millis) -> Vec<LongestLife> {
        if workers == Workers::None || !self.lifecycle.has_rule(state.name.as_str(), &Trigger::Claim) {
            return self.go(state, &Trigger::Timeout, timeout(state)).into_iter().collect();
        }
        self.race(state, &Trigger::Claim, delay)
    }

    fn leave_leased(&self, state: &State) -> Vec<LongestLife> {
        let policy = &self.lifecycle.policy;
        let lost = policy.lease.min(Millis(policy.heartbeat.0.saturating_mul(2)));
        let mut ways = self.race(state, &Trigger::LeaseExpired, lost);
        // The worker may start the job before it crashes, and a lost connection is noticed immediately.
        ways.extend(self.go(state, &Trigger::Start, Some(Millis(0))));
        ways.extend(self.go(state, &Trigger::Disconnected, Some(Millis(0))));
        ways
    }

    fn leave_waiting(&self, state: &State) -> Vec<LongestLife> {
        if !self.lifecycle.has_rule(state.name.as_str(), &Trigger::Due) {
            return self.go(state, &Trigger::Timeout, timeout(state)).into_iter().collect();
        }
        let delay = if self.retry_holds() { self.delay(self.attempt) } else { Millis(0) };
        self.race(state, &Trigger::Due, delay)
    }

    /// The earlier of a trigger that takes at most `takes`, and the state's timeout. With jitter the trigger may also
    /// come sooner, so both are possible even if the timeout is shorter.
    fn race(&self, state: &State, on: &Trigger, takes: Millis) -> Vec<LongestLife> {
        let timeout = timeout(state).filter(|timeout| *timeout <= takes);
        let mut ways = Vec::new();
        let fixed = matches!(on, Trigger::LeaseExpired);
        if !(fixed && timeout.is_some_and(|timeout| timeout < takes)) {
            ways.extend(self.go(state, on, Some(timeout.unwrap_or(takes))));
        }
        ways.extend(self.go(state, &Trigger::Timeout, timeout));
        ways
    }

    /// The life after a trigger that fires after a time, if it ever fires and has a rule.
    fn go(&self, state: &State, on: &Trigger, after: Option<Millis>) -> Option<LongestLife> {
        let waited = after?;
        let holds = |condition| match condition {
            Condition::Retry => self.retry_holds(),
            Condition::Exhausted => !self.retry_holds(),
        };
        let rule = self.lifecycle.rule(state.name.as_str(), on, holds)?;
        let lives = match (self.lifecycle.begins_attempt(rule), on) {
            (false, _) => &self.lives.at_once,
            // The backoff of a job that was due is already over.
            (true, Trigger::Due) => &self.after.at_once,
            (true, _) => &self.after.backed_off,
        };
        let life = lives[self.lifecycle.index(&rule.to)].clone()?;
        Some(match life {
            LongestLife::Within(rest) => LongestLife::Within(Millis(waited.0.saturating_add(rest.0))),
            waits @ LongestLife::Waits(_) => waits,
        })
    }

    /// Expired leases and timeouts are transient errors, so only the number of attempts decides.
    fn retry_holds(&self) -> bool {
        self.attempt < self.lifecycle.policy.max_attempts
    }

    fn delay(&self, retry: u32) -> Millis {
        backoff::longest(&self.lifecycle.policy.backoff, retry)
    }
}

fn timeout(state: &State) -> Option<Millis> {
    match state.timeout {
        Timeout::After(span) => Some(span),
        Timeout::Unset | Timeout::Never => None,
    }
}

fn longer(one: LongestLife, other: LongestLife) -> LongestLife {
    match (one, other) {
        (waits @ LongestLife::Waits(_), _) | (_, waits @ LongestLife::Waits(_)) => waits,
        (LongestLife::Within(one), LongestLife::Within(other)) => LongestLife::Within(one.max(other)),
    }
}
