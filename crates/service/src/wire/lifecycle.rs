//! Lifecycles and types.

use tenure_api::{
    HistoriesCheck, HistoryCheck, JobType, Lifecycle, LifecycleState, LifecycleSummary, LifecycleTransition,
    LiveJobsCheck, LiveStateCheck, LongestLife, LongestLives, ObstacleExample, ReplayObstacle, WhatIf,
};
use tenure_core::job_type;
use tenure_core::lifecycle::{self, Timeout};

use super::{ToWire as _, text};
use crate::what_if::{HistoryResult, LiveState, NewEnd, ObstacleCount};

/// A lifecycle with everything that is derived from it, without the text of its file.
pub fn lifecycle(lifecycle: &lifecycle::Lifecycle) -> Lifecycle {
    convert!(lifecycle => Lifecycle { name, version, about, initial, states;
        transitions: lifecycle.rules.to_wire(),
        longest_life: LongestLives {
            untouched: longest_life(&lifecycle.longest_life_untouched()),
            crashing: longest_life(&lifecycle.longest_life_crashing()),
        },
        source: String::new(),
    })
}

conversions! {
    lifecycle::State as it => LifecycleState { name, alias, rank;
        phase: it.phase.as_str().to_owned(),
        outcome: it.phase.outcome().to_wire(),
        timeout: match it.timeout {
            Timeout::Unset => None,
            Timeout::Never => Some("never".to_owned()),
            Timeout::After(span) => Some(span.to_string()),
        },
    }
    lifecycle::Rule as it => LifecycleTransition { from, when, to, event, audit;
        on: text(&it.on), reason: it.reason.map(|reason| reason.as_str().to_owned()),
        by: it.by.as_ref().map(|by| by.iter().map(|role| role.as_str().to_owned()).collect()) }
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
    let states = lifecycle.states.iter().map(|state| state.name.to_string()).collect();
    convert!(lifecycle => LifecycleSummary { name, version; description: lifecycle.about.clone(), states })
}

pub fn job_type(it: &job_type::JobType) -> JobType {
    convert!(it => JobType { name, queue, priority, cost, compensate_with;
        lifecycle: it.lifecycle.name.to_string(),
        lifecycle_version: it.lifecycle.version,
        max_attempts: it.policy.max_attempts,
        lease: it.policy.lease.to_string(),
        heartbeat: it.policy.heartbeat.to_string(),
        cancel_grace: it.policy.cancel_grace.to_string(),
        payload_bytes_max: it.payload_bytes_max as u64,
        timeouts: it.timeouts.iter().map(|(state, span)| (state.to_string(), span.to_string())).collect(),
    })
}

/// Live jobs and histories, judged under another version.
pub fn what_if(it: &crate::what_if::WhatIf) -> WhatIf {
    let (live, histories) = (&it.live, &it.histories);
    convert!(it => WhatIf { in_force, from, to;
        name: it.lifecycle.name.to_string(),
        version: it.lifecycle.version,
        live: LiveJobsCheck {
            jobs: live.jobs,
            examined: live.examined,
            could_continue: live.could_continue(),
            states: live.states.to_wire(),
        },
        histories: convert!(histories => HistoriesCheck { examined, skipped, results, obstacles;
            complete: histories.is_complete }),
    })
}

conversions! {
    LiveState as it => LiveStateCheck { version, state, jobs, examples, reasons;
        phase: it.phase.as_str().to_owned(),
        counterpart: it.counterpart.map(|phase| phase.as_str().to_owned()),
    }
    HistoryResult as it => HistoryCheck { state, outcome, jobs, early, examples;
        end: match it.becomes {
            NewEnd::Finished { .. } => "finished",
            NewEnd::Unfinished { .. } => "unfinished",
            NewEnd::Stopped => "stopped",
        }.to_owned(),
        new_state: match &it.becomes {
            NewEnd::Finished { state, .. } | NewEnd::Unfinished { state } => Some(state.to_string()),
            NewEnd::Stopped => None,
        },
        new_outcome: match &it.becomes {
            NewEnd::Finished { outcome, .. } => Some(outcome.to_string()),
            NewEnd::Unfinished { .. } | NewEnd::Stopped => None,
        },
    }
    ObstacleCount as it => ReplayObstacle { jobs;
        trigger: text(&it.obstacle.trigger),
        state: it.obstacle.state.to_string(),
        recorded_state: it.obstacle.recorded.to_string(),
        detail: it.obstacle.to_string(),
        examples: it.examples.iter().map(|(job, seq)| ObstacleExample { job_id: job.to_string(), seq: *seq }).collect(),
    }
}
