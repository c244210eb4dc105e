//! Checks each new event against laws 1 to 5, 9, and the errors of law 10.

use tenure_core::lifecycle::Condition;

use crate::auditor::Violation;
use crate::auditor::job_model::JobModel;
use crate::auditor::rules::{self, RetryBudget};
use crate::prelude::*;

/// A worker's delay replaces the backoff; this is the longest that the workers of the simulator request.
const RETRY_AFTER_MS_MAX: i64 = 3000;

/// A deadline of a job: the earliest and the latest time at which it may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) what: &'static str,
    pub(super) earliest: i64,
    pub(super) latest: i64,
}

impl JobModel {
    /// Every current deadline.
    pub(super) fn deadlines(&self) -> Vec<Deadline> {
        let deadline = |what, earliest: Option<i64>, latest: Option<i64>| {
            Some(Deadline { what, earliest: earliest?, latest: latest? })
        };
        let ends = self.held.iter().flat_map(|held| &held.ends);
        let expiries = ends.map(|(ends, beat_by)| *ends.min(beat_by));
        let cancellable = rules::has_rule(&self.kind.lifecycle, &self.state, &Trigger::Cancel);
        let graces = || self.graces.iter().filter(|_| cancellable);
        let last_grace = graces().map(|grace| grace.unwrap_or(i64::MAX)).max();
        let deadlines = [
            deadline(LEASE, expiries.clone().min(), expiries.max()),
            deadline(GRACE, graces().flatten().min().copied(), last_grace),
            deadline(TIMEOUT, self.timeout, self.timeout),
            deadline(DUE, self.due, self.due),
        ];
        deadlines.into_iter().flatten().collect()
    }

    /// The first law that an event breaks. `running` is its time without outages.
    pub(super) fn check(&self, event: &Event, running: i64) -> Option<Violation> {
        if event.trigger == Trigger::Amend {
            let checked = self.check_order(event).or_else(|| self.check_amendment(event, running));
            return checked.or_else(|| self.check_clock(event, running));
        }
        self.check_order(event)
            .or_else(|| self.check_rule(event))
            .or_else(|| self.check_progress(event))
            .or_else(|| self.check_lease(event, running))
            .or_else(|| self.check_clock(event, running))
            .or_else(|| self.check_times(event, running))
            .or_else(|| self.check_error(event))
    }

    /// Laws 2 and 5.
    fn check_order(&self, event: &Event) -> Option<Violation> {
        let next = self.seq + 1;
        if self.phase.is_final() && self.seq > 0 {
            let what = format!("event {} ({}) leaves {}", shown(event.seq), event.name, self.state);
            return Some(self.violation(2, what, format!("nothing after event {}: it is final", self.seq)));
        }
        if event.seq != Some(next) {
            let what = format!("event {} ({}) follows event {}", shown(event.seq), event.name, self.seq);
            return Some(self.violation(5, what, format!("event {next}")));
        }
        if event.ts < self.updated_at {
            let what = format!("event {next} is of {}", event.ts);
            return Some(self.violation(5, what, format!("not before {}", self.updated_at)));
        }
        None
    }

    /// Law 1: the rule that applies was followed.
    fn check_rule(&self, event: &Event) -> Option<Violation> {
        let from = (self.seq > 0).then_some(&self.state);
        let rule = self.rule_for(event);
        let source = from.map_or("nothing", StateName::as_str);
        let expected = match rule {
            Some(rule) => format!("{source} → {} ({})", rule.to, rule.event),
            None => format!("nothing: {source} has no rule here"),
        };
        let follows = |rule: &Rule| {
            let phase = rules::phase(&self.kind.lifecycle, &event.to);
            rule.to == event.to && rule.event == event.name && phase == Some(event.facts.phase())
        };
        if event.from.as_ref() == from && rule.is_some_and(follows) {
            return None;
        }
        let was = event.from.as_deref().unwrap_or("nothing");
        let what = format!("{} led from {was} to {} ({})", event.trigger, event.to, event.name);
        Some(self.violation(1, what, expected))
    }

    /// Whether this event counts the attempt as failed: once in each attempt.
    pub(super) fn counts(&self, event: &Event) -> bool {
        let uses_one_up = || {
            let phase = event.facts.phase();
            let by_condition = match self.rule_for(event).and_then(|rule| rule.when) {
                Some(Condition::Retry) => phase == Phase::Ready,
                Some(Condition::Exhausted) => phase.is_final(),
                None => false,
            };
            by_condition && event.trigger != Trigger::Release
        };
        !self.is_counted && (rules::fails(&event.trigger) || uses_one_up())
    }

    fn rule_for(&self, event: &Event) -> Option<&Rule> {
        let from = (self.seq > 0).then_some(&self.state);
        let error = event.facts.error.as_deref().or(self.error.as_ref());
        rules::rule(&self.kind.lifecycle, from, &event.trigger, self.retry_budget(event), error)
    }

    fn retry_budget(&self, event: &Event) -> RetryBudget {
        let is_new = !self.is_counted && event.trigger != Trigger::Release;
        let failed = self.failed + u32::from(is_new);
        RetryBudget { failed, max: self.spec.max_attempts }
    }

    /// Law 3: `(attempt, rank)` grows; a ready state begins the next attempt.
    fn check_progress(&self, event: &Event) -> Option<Violation> {
        let returns = self.seq > 0 && event.facts.phase() == Phase::Ready;
        let attempt = self.attempt + u32::from(returns);
        let rank = |state: &StateName| self.ranks.get(state).copied().unwrap_or_default();
        let (was, is) = ((self.attempt, rank(&self.state)), (event.attempt, rank(&event.to)));
        let grows = self.seq == 0 || was < is;
        if grows && event.attempt == attempt {
            return None;
        }
        let what = format!("{} (attempt, rank) went from {was:?} to {is:?}", event.name);
        Some(self.violation(3, what, format!("attempt {attempt}, and forward")))
    }

    /// Law 4: one lease at a time, under fences that grow.
    fn check_lease(&self, event: &Event, running: i64) -> Option<Violation> {
        let granted = event.facts.lease.as_ref();
        if event.trigger != Trigger::Claim {
            let what = format!("{} grants a lease", event.name);
            let wrong = granted.map(|_| self.violation(4, what, "leases only from claims"));
            let leased = event.facts.phase().is_leased() && self.held.is_none() && self.seq > 0;
            let missing = || self.violation(4, format!("{} without a lease", event.to), "a lease");
            return wrong.or_else(|| leased.then(missing));
        }
        if let Some(held) = &self.held {
            let what = format!("claimed by {} while {} held it", event.actor, held.worker);
            return Some(self.violation(4, what, "one live lease at a time"));
        }
        let policy = &self.kind.policy;
        let ends = (running + policy.lease.0 as i64, running + 2 * policy.heartbeat.0 as i64);
        let expected = (self.fence + 1, ends, event.actor.to_string());
        let lease =
            granted.map(|it| (it.fence.0, (it.ends.0, it.beat_by.0), format!("worker:{}", it.worker)));
        if lease.as_ref() != Some(&expected) {
            return Some(self.violation(4, format!("granted {lease:?}"), format!("{expected:?}")));
        }
        let (early, what) = (event.ts < self.run_at, format!("claimed at {}", event.ts));
        early.then(|| self.violation(9, what, format!("not before {}", self.run_at)))
    }

    /// Law 9: expired deadlines fired before; none fires early, and the earlier one fires first.
    fn check_clock(&self, event: &Event, running: i64) -> Option<Violation> {
        let by_clock = event.actor == "clock";
        let fired = match event.trigger {
            Trigger::LeaseExpired => Some(LEASE),
            Trigger::Timeout => Some(TIMEOUT),
            Trigger::Due => Some(DUE),
            Trigger::Cancel if by_clock => Some(GRACE),
            _ => None,
        };
        let deadlines = self.deadlines();
        let Some(fired) = fired else {
            let missed = deadlines.iter().find(|one| one.latest <= running)?;
            let what = format!("{} by {} at {running}", event.name, event.actor);
            return Some(self.violation(9, what, format!("{} first, at {}", missed.what, missed.latest)));
        };
        let Some(own) = deadlines.iter().find(|one| one.what == fired) else {
            return Some(self.violation(9, format!("{} by {fired}", event.name), "no such deadline"));
        };
        if running < own.earliest || !by_clock {
            let what = format!("{} by {} at {running}", event.name, event.actor);
            return Some(self.violation(9, what, format!("by the clock, not before {}", own.earliest)));
        }
        let missed = deadlines.iter().find(|one| one.what != fired && one.latest < own.earliest)?;
        let what = format!("{fired} of {} fired", own.earliest);
        Some(self.violation(9, what, format!("{} first, at {}", missed.what, missed.latest)))
    }

    /// The start of the next attempt, and the deadlines of the new state.
    fn check_times(&self, event: &Event, running: i64) -> Option<Violation> {
        let facts = &event.facts;
        let timeout = self.kind.timeout(&event.to).map(|span| running + span.0 as i64);
        if facts.timeout.map(|at| at.0) != timeout {
            let what = format!("{} times out at {:?}", event.to, facts.timeout);
            return Some(self.violation(9, what, format!("{timeout:?}")));
        }
        if self.seq == 0 {
            return None;
        }
        let (least, most) = self.delay(event);
        if facts.phase() == Phase::Ready {
            let delay = facts.run_at.map(|at| at.0 - event.ts.0);
            let what = format!("the next attempt begins after {delay:?} ms");
            let allowed = delay.is_some_and(|delay| (least..=most).contains(&delay));
            return (!allowed).then(|| self.violation(10, what, format!("from {least} to {most} ms")));
        }
        let waits = facts.phase() == Phase::Waiting
            && rules::has_rule(&self.kind.lifecycle, &event.to, &Trigger::Due);
        let allowed = match facts.due {
            Some(due) => waits && (least..=most).contains(&(due.0 - running)),
            None => !waits,
        };
        let what = format!("{} is due at {:?}", event.to, facts.due);
        (!allowed)
            .then(|| self.violation(10, what, format!("from {least} to {most} ms after {running}: {waits}")))
    }

    /// The shortest and the longest delay that this event may set.
    fn delay(&self, event: &Event) -> (i64, i64) {
        let budget = self.retry_budget(event);
        let error = event.facts.error.as_deref().or(self.error.as_ref());
        let no_retry = event.facts.phase() == Phase::Waiting && !budget.allows_retry(error);
        if !rules::fails(&event.trigger) || no_retry {
            return (0, 0);
        }
        let (least, most) = rules::delays(&self.kind.policy, budget.failed);
        match event.trigger {
            Trigger::Fail => (0, most.max(RETRY_AFTER_MS_MAX)),
            _ => (least, most),
        }
    }

    /// Law 10: a failure has an error of the right category.
    fn check_error(&self, event: &Event) -> Option<Violation> {
        let category = match (&event.trigger, self.phase) {
            (Trigger::LeaseExpired, _) | (Trigger::Timeout, Phase::Held) => Category::System,
            (Trigger::Timeout, Phase::Active) | (Trigger::Fail, _) => Category::Engine,
            (Trigger::Timeout | Trigger::Disconnected, _) => Category::Queue,
            _ => return None,
        };
        let error = event.facts.error.as_ref();
        let correct = error.is_some_and(|error| error.category == category);
        let what = format!("{} with error {error:?}", event.name);
        (!correct).then(|| self.violation(10, what, format!("an error of category {category:?}")))
    }
}

const LEASE: &str = "the end of the lease";
const GRACE: &str = "the end of the cancel grace";
const TIMEOUT: &str = "the timeout";
const DUE: &str = "the due time";

fn shown(seq: Option<u32>) -> String {
    seq.map_or_else(|| "without a number".to_owned(), |seq| seq.to_string())
}
