//! Lifecycles and types.

use tenure_api::{
    JobType, Lifecycle, LifecycleState, LifecycleSummary, LifecycleTransition, LongestLife, LongestLives,
};
use tenure_core::job_type;
use tenure_core::lifecycle::{self, Rule, State, Timeout};

use super::text;

/// A lifecycle with everything that is derived from it, without the text of its file.
pub fn lifecycle(lifecycle: &lifecycle::Lifecycle) -> Lifecycle {
    Lifecycle {
        name: lifecycle.name.to_string(),
        version: lifecycle.version,
        about: lifecycle.about.clone(),
        initial: lifecycle.initial.to_string(),
        states: lifecycle.states.iter().map(state).collect(),
        transitions: lifecycle.rules.iter().map(transition).collect(),
        longest_life: LongestLives {
            untouched: longest_life(&lifecycle.longest_life_untouched()),
            crashing: longest_life(&lifecycle.longest_life_crashing()),
        },
        source: String::new(),
    }
}

fn state(state: &State) -> LifecycleState {
    LifecycleState {
        name: state.name.to_string(),
        phase: state.phase.as_str().to_owned(),
        outcome: state.phase.outcome().map(|outcome| outcome.as_str().to_owned()),
        timeout: match state.timeout {
            Timeout::Unset => None,
            Timeout::Never => Some("never".to_owned()),
            Timeout::After(span) => Some(span.to_string()),
        },
        alias: state.alias.as_ref().map(ToString::to_string),
        rank: state.rank,
    }
}

fn transition(rule: &Rule) -> LifecycleTransition {
    LifecycleTransition {
        on: text(&rule.on),
        from: rule.from.as_ref().map(ToString::to_string),
        when: rule.when.map(|when| when.to_string()),
        to: rule.to.to_string(),
        event: rule.event.to_string(),
        audit: rule.audit.as_ref().map(ToString::to_string),
        reason: rule.reason.map(|reason| reason.as_str().to_owned()),
    }
}

fn longest_life(life: &lifecycle::LongestLife) -> LongestLife {
    match life {
        lifecycle::LongestLife::Within(span) => {
            LongestLife { final_within: Some(span.to_string()), waits_in: None }
        }
        lifecycle::LongestLife::Waits(wait) => {
            LongestLife { final_within: None, waits_in: Some(wait.state.to_string()) }
        }
    }
}

pub fn lifecycle_summary(lifecycle: &lifecycle::Lifecycle) -> LifecycleSummary {
    LifecycleSummary {
        name: lifecycle.name.to_string(),
        version: lifecycle.version,
        description: lifecycle.about.clone(),
        states: lifecycle.states.iter().map(|state| state.name.to_string()).collect(),
    }
}

pub fn job_type(it: &job_type::JobType) -> JobType {
    JobType {
        name: it.name.to_string(),
        lifecycle: it.lifecycle.name.to_string(),
        lifecycle_version: it.lifecycle.version,
        queue: it.queue.to_string(),
        priority: it.priority,
        max_attempts: it.policy.max_attempts,
        lease: it.policy.lease.to_string(),
        heartbeat: it.policy.heartbeat.to_string(),
        cancel_grace: it.policy.cancel_grace.to_string(),
        cost: it.cost,
        compensate_with: it.compensate_with.as_ref().map(ToString::to_string),
        payload_bytes_max: it.payload_bytes_max as u64,
        timeouts: it.timeouts.iter().map(|(state, span)| (state.to_string(), span.to_string())).collect(),
    }
}
