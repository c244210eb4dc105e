//! Flow control as operators see it: resources, their buckets, and sequences.

use serde::{Deserialize, Serialize};

use crate::schema::Schema::{Bool, Integer, Json, List, Nullable, Ref, Text};
use crate::schema::{Schema, of};
use crate::values::{MAYBE_TEXT, MAYBE_TIME};

const MAYBE_COUNT: Schema = Nullable(&Integer(0));

answers! {
    /// A resource, its limits, and its buckets that are in use.
    pub struct Resource {
        name: String = Text,
        /// The expression of which each value has a bucket; null if there is one bucket.
        key: Option<String> = MAYBE_TEXT,
        /// The limits of each bucket that are in force.
        limits: ResourceLimits = of::<ResourceLimits>(),
        /// Whether the limits are those of the file, or an operator has overridden them.
        origin: String = Json(r#"{"type":"string","enum":["file","override"]}"#),
        /// Whether all buckets are paused, future ones too.
        paused: bool = Bool,
        /// When that pause ends; null if it is not paused, or until it is resumed.
        paused_until: Option<String> = MAYBE_TIME,
        /// Buckets with a lease, an unfinished job, missing tokens or a pause: the 100 busiest.
        buckets: Vec<Bucket> = List(&of::<Bucket>()),
    }

    /// Limits of each bucket of a resource. Null is no limit.
    pub struct ResourceLimits {
        /// Units of live leases at once, over all nodes.
        running: Option<u64> = MAYBE_COUNT,
        rate: Option<RateLimit> = Nullable(&of::<RateLimit>()),
        /// Unfinished jobs. More are refused at creation.
        waiting: Option<u64> = MAYBE_COUNT,
    }

    /// A token bucket.
    pub struct RateLimit {
        /// Tokens in each span.
        count: u64 = Integer(1),
        per: String = Ref("Span"),
        /// Tokens of a full bucket.
        burst: u64 = Integer(1),
    }

    /// One bucket of a resource.
    pub struct Bucket {
        /// Null if the resource has no key.
        key: Option<String> = MAYBE_TEXT,
        /// Units of live leases.
        running: u64 = Integer(0),
        /// Whole tokens; null without a rate.
        tokens: Option<u64> = MAYBE_COUNT,
        /// Unfinished jobs.
        waiting: u64 = Integer(0),
        paused: bool = Bool,
        /// Null if it is not paused, or until it is resumed.
        paused_until: Option<String> = MAYBE_TIME,
    }

    /// A sequence: jobs of a type with one key, of which the first unfinished one can be claimed.
    pub struct SequenceStatus as "Sequence" {
        job_type as "type": String = Text,
        key: String = Text,
        /// Unfinished jobs.
        waiting: u64 = Integer(0),
        /// The first unfinished job.
        first_job_id: Option<String> = Nullable(&Ref("JobId")),
        /// Whether a failure stopped it until it is resumed.
        halted: bool = Bool,
        /// The job that failed.
        halted_by: Option<String> = Nullable(&Ref("JobId")),
        halted_at: Option<String> = MAYBE_TIME,
    }

    /// What flow control makes a job wait for.
    pub struct WaitsFor {
        kind: String = Json(r#"{"type":"string","examples":["running","rate","pause","sequence","halt","batch","share"]}"#),
        /// Null for a sequence, a batch or a share.
        resource: Option<String> = MAYBE_TEXT,
        key: Option<String> = MAYBE_TEXT,
        /// Units in use; for a batch, the jobs that wait for it; for a share, the leases of the key, and `limit` is its weight.
        running: Option<u64> = MAYBE_COUNT,
        limit: Option<u64> = MAYBE_COUNT,
        /// Jobs that hold what is missing, at most ten.
        holders: Vec<String> = List(&Ref("JobId")),
        /// Ready jobs ahead that need the same bucket or group, or jobs ahead in the sequence.
        before: u64 = Integer(0),
        /// When it ends without anything else happening, if that is known.
        until: Option<String> = MAYBE_TIME,
    }
}
