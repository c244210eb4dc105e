//! Statistics: counts, rates and percentiles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::schema::Schema::{Bool, Integer, Json, List, Nullable, Number, Ref, Text};
use crate::schema::{Schema, of};

const BY_MINUTE: Schema =
    Json(r#"{"type":"array","items":{"type":"integer","minimum":0},"minItems":60,"maxItems":60}"#);
const MILLISECONDS: Schema = Nullable(&Number);

answers! {
    /// Counts, rates and percentiles. Read at most twice a second, and at longer intervals where reading takes long;
    /// `at` is the time of the reading.
    pub struct Stats {
        at: String = Ref("Timestamp"),
        /// The number of jobs by lifecycle, type, queue and state.
        counts: Vec<JobCount> = List(&of::<JobCount>()),
        /// Jobs that finished in the last five minutes, at most the last thousand.
        types: Vec<TypeStats> = List(&of::<TypeStats>()),
        /// Every state of every lifecycle.
        states: Vec<StateStats> = List(&of::<StateStats>()),
        /// Transitions of the last hour.
        transitions: Vec<TransitionStats> = List(&of::<TransitionStats>()),
        /// Failed attempts of the last hour by type and error code, the most frequent first.
        failures: Vec<FailureStats> = List(&of::<FailureStats>()),
        /// Things that an operator should look at. Empty if nothing needs attention.
        attention: Vec<Attention> = List(&of::<Attention>()),
        /// Jobs created, jobs finished and failed attempts in each of the last 60 minutes; the current minute is last.
        minutes: Minutes = of::<Minutes>(),
        /// Nodes that were seen in the last hour.
        nodes: Vec<Node> = List(&of::<Node>()),
    }

    /// How many jobs have this lifecycle, type, queue and state.
    pub struct JobCount {
        lifecycle: String = Text,
        job_type as "type": String = Text,
        queue: String = Text,
        state: String = Text,
        count: u64 = Integer(0),
    }

    /// Recently finished jobs of one type.
    pub struct TypeStats {
        lifecycle: String = Text,
        job_type as "type": String = Text,
        /// The period that the figures cover.
        window: String = Ref("SpanShown"),
        finished: u64 = Integer(0),
        /// Finished per second.
        rate: f64 = Number,
        /// How many ended with each outcome.
        outcomes: BTreeMap<String, u64> = Json(r##"{"type":"object","propertyNames":{"$ref":"#/components/schemas/Outcome"},"additionalProperties":{"type":"integer","minimum":0}}"##),
        wait_ms: Percentiles = of::<Percentiles>(),
        run_ms: Percentiles = of::<Percentiles>(),
    }

    /// In milliseconds; null without measurements.
    pub struct Percentiles {
        p50: Option<u64> = MILLISECONDS,
        p95: Option<u64> = MILLISECONDS,
        p99: Option<u64> = MILLISECONDS,
    }

    /// One state of one lifecycle.
    pub struct StateStats {
        lifecycle: String = Text,
        state: String = Text,
        count: u64 = Integer(0),
        /// When the oldest job entered it; null if there is none or it is not known.
        oldest_since: Option<String> = Nullable(&Ref("Timestamp")),
        /// 95 of 100 of the last finished jobs stayed no longer.
        p95_ms: Option<u64> = Nullable(&Integer(0)),
    }

    /// One transition of one lifecycle.
    pub struct TransitionStats {
        lifecycle: String = Text,
        /// Null at creation.
        from: Option<String> = Nullable(&Text),
        trigger: String = Text,
        to: String = Text,
        /// Over the last full minute and the current one.
        per_minute: f64 = Number,
    }

    /// Failed attempts with the same type and error code.
    pub struct FailureStats {
        job_type as "type": String = Text,
        code: String = Text,
        count: u64 = Integer(0),
        first_at: String = Ref("Timestamp"),
        last_at: String = Ref("Timestamp"),
        job_id: String = Ref("JobId"),
        /// The message of the last one, shortened.
        message: String = Text,
    }

    /// Something that an operator should look at.
    pub struct Attention {
        what: String = Json(r#"{"type":"string","enum":["dead_letters","nobody_waits","overlong","paused_queue","webhook","schedule","node_gone"]}"#),
        text: String = Text,
        since: Option<String> = Nullable(&Ref("Timestamp")),
        /// The dashboard page on which it can be seen and resolved.
        link: String = Text,
    }

    /// Counts by minute.
    pub struct Minutes {
        created: Vec<u64> = BY_MINUTE,
        finished: Vec<u64> = BY_MINUTE,
        failed: Vec<u64> = BY_MINUTE,
    }

    /// A server process on the store.
    pub struct Node {
        id: String = Text,
        address: String = Text,
        version: String = Text,
        started_at: String = Ref("Timestamp"),
        seen_at: String = Ref("Timestamp"),
        /// Whether it is the node that answers.
        own: bool = Bool,
        life: String = Json(r#"{"type":"string","enum":["live","stopped","gone"]}"#),
    }
}
