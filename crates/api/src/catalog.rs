//! Definitions in force: lifecycles and types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::schema::Schema::{Bool, Integer, Json, List, Map, Nullable, Ref, Text};
use crate::schema::of;
use crate::values::{ATTEMPTS, MAYBE_TEXT, PRIORITY};

answers! {
    /// A type: a named kind of job.
    pub struct JobType as "Type" {
        /// `*` is the catch-all.
        name: String = Text,
        lifecycle: String = Text,
        lifecycle_version: u32 = Integer(1),
        queue: String = Text,
        priority: i32 = PRIORITY,
        max_attempts: u32 = ATTEMPTS,
        lease: String = Ref("SpanShown"),
        heartbeat: String = Ref("SpanShown"),
        cancel_grace: String = Ref("SpanShown"),
        /// Credits that a job reserves.
        cost: u64 = Integer(0),
        /// The type whose job undoes the effects of this one.
        compensate_with: Option<String> = MAYBE_TEXT,
        payload_bytes_max: u64 = Integer(0),
        /// States for which the type has its own timeout.
        timeouts: BTreeMap<String, String> = Map(&Ref("SpanShown")),
    }

    /// A lifecycle in short.
    pub struct LifecycleSummary {
        name: String = Text,
        version: u32 = Integer(1),
        description: String = Text,
        /// In the order of the file.
        states: Vec<String> = Json(r#"{"type":"array","items":{"type":"string"},"minItems":1}"#),
    }

    /// A declared state machine whose properties were checked.
    pub struct Lifecycle {
        name: String = Json(r#"{"type":"string","pattern":"^[a-z][a-z0-9_-]*$"}"#),
        version: u32 = Integer(1),
        /// One sentence.
        about: String = Text,
        /// The state after `create`.
        initial: String = Text,
        states: Vec<LifecycleState> = Json(r##"{"type":"array","items":{"$ref":"#/components/schemas/LifecycleState"},"minItems":1,"maxItems":64}"##),
        /// In the order of the file, with lists expanded.
        transitions: Vec<LifecycleTransition> = Json(r##"{"type":"array","items":{"$ref":"#/components/schemas/LifecycleTransition"},"minItems":1,"maxItems":4096}"##),
        longest_life: LongestLives = of::<LongestLives>(),
        /// The text of the file.
        #[serde(skip_serializing_if = "String::is_empty")]
        source: String = Text,
    }

    /// A state of a lifecycle.
    pub struct LifecycleState {
        name: String = Text,
        phase: String = Ref("Phase"),
        outcome: Option<String> = Nullable(&Ref("Outcome")),
        /// A duration, `never`, or null if the file sets none.
        timeout: Option<String> = Json(r#"{"type":["string","null"],"pattern":"^(never|[0-9]+(ms|s|m|h|d)( [0-9]+(ms|s|m|h))*)$"}"#),
        /// A former name, still accepted.
        alias: Option<String> = MAYBE_TEXT,
        rank: u32 = Integer(0),
    }

    /// A transition of a lifecycle.
    pub struct LifecycleTransition {
        on: String = Ref("Trigger"),
        /// Null only for `create`.
        from: Option<String> = MAYBE_TEXT,
        when: Option<String> = Json(r#"{"type":["string","null"],"enum":["retry","exhausted",null]}"#),
        to: String = Text,
        event: String = Text,
        audit: Option<String> = MAYBE_TEXT,
        reason: Option<String> = Nullable(&Ref("ReasonCode")),
        /// The roles that may send the signal, besides admins. Null: the job's owner, operators and admins.
        by: Option<Vec<String>> = Json(r##"{"type":["array","null"],"items":{"$ref":"#/components/schemas/Role"}}"##),
    }

    /// The longest life of a job in two cases.
    pub struct LongestLives {
        /// A job that no worker claims.
        untouched: LongestLife = Ref("LongestLife"),
        /// A job whose workers all crash.
        crashing: LongestLife = Ref("LongestLife"),
    }

    /// The time within which a job becomes final, or the state in which it can wait without limit.
    pub struct LongestLife {
        final_within: Option<String> = Nullable(&Ref("SpanShown")),
        waits_in: Option<String> = MAYBE_TEXT,
    }

    /// Live jobs and histories of a lifecycle, judged under another version of it. A replay of recorded triggers: what workers would
    /// have done otherwise is not known.
    pub struct WhatIf {
        name: String = Text,
        version: u32 = Integer(1),
        /// The version that new jobs follow.
        in_force: u32 = Integer(1),
        /// Jobs that finished from here until `to` were replayed.
        from: String = Ref("Timestamp"),
        to: String = Ref("Timestamp"),
        live: LiveJobsCheck = of::<LiveJobsCheck>(),
        histories: HistoriesCheck = of::<HistoriesCheck>(),
    }

    /// Which live jobs could continue.
    pub struct LiveJobsCheck {
        jobs: u64 = Integer(0),
        /// At most 10,000, newest first of each phase.
        examined: u64 = Integer(0),
        /// Of those that were examined.
        could_continue: u64 = Integer(0),
        states: Vec<LiveStateCheck> = List(&of::<LiveStateCheck>()),
    }

    /// The live jobs of a version in one state.
    pub struct LiveStateCheck {
        version: u32 = Integer(1),
        state: String = Text,
        phase: String = Ref("Phase"),
        /// The phase of the state with that name under the other version. Null if it has no such state.
        counterpart: Option<String> = Nullable(&Ref("Phase")),
        jobs: u64 = Integer(0),
        /// Ids of some of these jobs.
        examples: Vec<String> = List(&Ref("JobId")),
        /// Why they could not continue; empty if they could.
        reasons: Vec<String> = List(&Text),
    }

    /// How finished jobs would have ended.
    pub struct HistoriesCheck {
        /// At most 5,000.
        examined: u64 = Integer(0),
        /// Whether these are all jobs that finished in the period. Otherwise they are some from each twentieth of it.
        complete: bool = Bool,
        /// Those with over 1,000 events, of an unknown version, or deleted meanwhile.
        skipped: u64 = Integer(0),
        /// The most frequent first.
        results: Vec<HistoryCheck> = List(&of::<HistoryCheck>()),
        /// The first events that histories could not follow, the most frequent first.
        obstacles: Vec<ReplayObstacle> = List(&of::<ReplayObstacle>()),
    }

    /// Histories with the same end, and the same end under the other version.
    pub struct HistoryCheck {
        state: String = Text,
        outcome: String = Ref("Outcome"),
        /// `stopped`: an event could not be followed. `unfinished`: after all events, the job would be live.
        end: String = Json(r#"{"type":"string","enum":["finished","unfinished","stopped"]}"#),
        /// Null if the replay stopped.
        new_state: Option<String> = MAYBE_TEXT,
        /// Null if the job would not be finished.
        new_outcome: Option<String> = Nullable(&Ref("Outcome")),
        jobs: u64 = Integer(0),
        /// Those that would have ended before their last events.
        early: u64 = Integer(0),
        /// Ids of some of these jobs.
        examples: Vec<String> = List(&Ref("JobId")),
    }

    /// Why histories could not follow an event.
    pub struct ReplayObstacle {
        trigger: String = Ref("Trigger"),
        /// The state in which the replay was.
        state: String = Text,
        /// The state that the recorded event left.
        recorded_state: String = Text,
        detail: String = Text,
        jobs: u64 = Integer(0),
        examples: Vec<ObstacleExample> = List(&of::<ObstacleExample>()),
    }

    /// An event that a replay could not follow.
    pub struct ObstacleExample {
        job_id: String = Ref("JobId"),
        seq: u32 = Integer(1),
    }
}
