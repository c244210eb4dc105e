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
        /// Figures of the last hour for each type, also of types that no configuration declares.
        by_type: Vec<TypeHour> = List(&of::<TypeHour>()),
        /// How the ready jobs of each queue develop.
        queues: Vec<QueueStats> = List(&of::<QueueStats>()),
        /// Failed attempts of the last hour by error code and normalised message, the most frequent first.
        errors: Vec<ErrorStats> = List(&of::<ErrorStats>()),
        /// Things that an operator should look at, the most severe first. Empty if nothing needs attention.
        attention: Vec<Attention> = List(&of::<Attention>()),
        /// Jobs created, finished, succeeded and failed, and failed attempts, in each of the last 60 minutes; the current
        /// minute is last.
        minutes: Minutes = of::<Minutes>(),
        /// Nodes that were seen in the last hour.
        nodes: Vec<Node> = List(&of::<Node>()),
        /// Statistics over time; null unless the request has a parameter.
        history: Option<StatsHistory> = Nullable(&of::<StatsHistory>()),
    }

    /// Statistics of a range of time in steps, compared with the period of the same length before. Unfinished steps are left
    /// out. Nodes report a minute within a few seconds after its end.
    pub struct StatsHistory {
        /// Null unless the request names a type.
        job_type as "type": Option<String> = Nullable(&Text),
        /// Null unless the request names a queue.
        queue: Option<String> = Nullable(&Text),
        /// The length of a step: a minute to a day, depending on the length and the age of the range.
        step_ms: u64 = Integer(60_000),
        current: StatsPeriod = of::<StatsPeriod>(),
        /// Null if statistics do not reach back so far.
        previous: Option<StatsPeriod> = Nullable(&of::<StatsPeriod>()),
    }

    /// A period in steps.
    pub struct StatsPeriod {
        from: String = Ref("Timestamp"),
        /// Not included.
        until: String = Ref("Timestamp"),
        /// Of all steps.
        totals: StatsStep = of::<StatsStep>(),
        /// In order, without gaps; the first begins at `from`.
        steps: Vec<StatsStep> = List(&of::<StatsStep>()),
    }

    /// What happened in a part of a period. A queue has only jobs that became ready or left, and its backlog.
    pub struct StatsStep {
        /// Its begin.
        at: String = Ref("Timestamp"),
        created: u64 = Integer(0),
        finished: u64 = Integer(0),
        /// Jobs that ended as succeeded or partial.
        succeeded: u64 = Integer(0),
        /// Jobs that ended as failed or dead.
        failed_jobs: u64 = Integer(0),
        /// Failed attempts, retried or not.
        failed_attempts: u64 = Integer(0),
        /// Failed jobs as a share of succeeded and failed ones; null if there are none.
        failure_rate: Option<f64> = Nullable(&Number),
        /// Jobs of the queue that entered a ready state.
        became_ready: u64 = Integer(0),
        /// Jobs of the queue that left a ready state.
        left_ready: u64 = Integer(0),
        /// The most ready jobs, looking once a minute.
        backlog: u64 = Integer(0),
        /// How long jobs were claimable before each claim, to within an eighth.
        wait_ms: Percentiles = of::<Percentiles>(),
        /// Run times of finished jobs, to within an eighth.
        run_ms: Percentiles = of::<Percentiles>(),
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
        what: String = Json(r#"{"type":"string","enum":["dead_letters","failing_type","nobody_waits","old_ready","backlog","overlong","paused_queue","lost_leases","webhook","schedule","slow_store","node_gone","node_restarted","halted_sequence","paused_resource","lost_worker","clock_step"]}"#),
        text: String = Text,
        since: Option<String> = Nullable(&Ref("Timestamp")),
        /// The dashboard page on which it can be seen and resolved.
        link: String = Text,
        severity: String = Json(r#"{"type":"string","enum":["warning","critical"]}"#),
        /// What to do, in a few words.
        action: String = Text,
    }

    /// One type in the last hour. `*` stands for undeclared types beyond the first 50.
    pub struct TypeHour {
        job_type as "type": String = Text,
        lifecycle: String = Text,
        created: u64 = Integer(0),
        finished: u64 = Integer(0),
        /// Jobs that ended as succeeded or partial.
        succeeded: u64 = Integer(0),
        /// Jobs that ended as failed or dead.
        failed_jobs: u64 = Integer(0),
        /// Failed attempts, retried or not.
        failed_attempts: u64 = Integer(0),
        /// Failed jobs as a share of succeeded and failed ones; null if there are none.
        failure_rate: Option<f64> = Nullable(&Number),
        /// Jobs in ready states.
        ready: u64 = Integer(0),
        /// All unfinished jobs.
        unfinished: u64 = Integer(0),
        /// When its oldest ready job became claimable.
        oldest_ready: Option<String> = Nullable(&Ref("Timestamp")),
        /// How long jobs were claimable before each claim.
        wait_ms: Percentiles = of::<Percentiles>(),
        run_ms: Percentiles = of::<Percentiles>(),
        /// Claims that wait for its jobs.
        idle: u64 = Integer(0),
        /// Workers that hold its jobs.
        busy: u64 = Integer(0),
    }

    /// One queue.
    pub struct QueueStats {
        name: String = Text,
        paused: bool = Bool,
        /// Who paused it, if that is known.
        paused_by: Option<String> = Nullable(&Text),
        paused_since: Option<String> = Nullable(&Ref("Timestamp")),
        ready: u64 = Integer(0),
        running: u64 = Integer(0),
        waiting: u64 = Integer(0),
        /// When its oldest ready job became claimable.
        oldest_ready: Option<String> = Nullable(&Ref("Timestamp")),
        /// Ready jobs at the end of each of the last 60 minutes; the current minute is last.
        depth: Vec<u64> = BY_MINUTE,
        /// Jobs that became ready per minute, over the last five full minutes.
        in_per_minute: f64 = Number,
        /// Jobs that were claimed or ended while ready, per minute.
        out_per_minute: f64 = Number,
        /// Time until no job is ready at this rate; null if the queue is empty or does not shrink.
        drains_in_ms: Option<u64> = Nullable(&Integer(0)),
    }

    /// Failed attempts with the same error code and normalised message.
    pub struct ErrorStats {
        code: String = Text,
        /// The message with `#` for numbers and ids.
        signature: String = Text,
        types: Vec<String> = List(&Text),
        count: u64 = Integer(0),
        /// Those that another attempt follows.
        retried: u64 = Integer(0),
        minutes: Vec<u64> = BY_MINUTE,
        first_at: String = Ref("Timestamp"),
        last_at: String = Ref("Timestamp"),
        job_id: String = Ref("JobId"),
        /// The message of the last one, shortened.
        message: String = Text,
        /// At most ten of the users whose jobs failed.
        users: Vec<String> = List(&Text),
    }

    /// Counts by minute.
    pub struct Minutes {
        created: Vec<u64> = BY_MINUTE,
        finished: Vec<u64> = BY_MINUTE,
        /// Jobs that ended as succeeded or partial.
        succeeded: Vec<u64> = BY_MINUTE,
        /// Jobs that ended as failed or dead.
        failed_jobs: Vec<u64> = BY_MINUTE,
        /// Failed attempts, retried or not.
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
