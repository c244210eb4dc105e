//! Statistics over time: what happened in each minute, five minutes, hour and day, by series. Counts of the same period add up,
//! in any order and whatever nodes counted them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{Name, QueueName, TypeName};
use crate::time::{Millis, Timestamp};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;

/// The length of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolution {
    Minute,
    FiveMinutes,
    Hour,
    Day,
}

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    All,
    /// `*` stands for types that have no series.
    Type(TypeName),
    Queue(QueueName),
}

/// A period of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeriodId {
    pub resolution: Resolution,
    pub series: Series,
    /// A multiple of the resolution's length since 1970, UTC.
    pub start: Timestamp,
}

/// What happened in a period. A series of a queue has jobs that became ready or left, and its backlog; the others have the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeriodCounts {
    #[serde(skip_serializing_if = "is_zero")]
    pub created: u64,
    /// With any outcome.
    #[serde(skip_serializing_if = "is_zero")]
    pub finished: u64,
    /// Jobs that ended as succeeded or partial.
    #[serde(skip_serializing_if = "is_zero")]
    pub succeeded: u64,
    /// Jobs that ended as failed or dead.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_jobs: u64,
    /// Retried or not.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_attempts: u64,
    /// Jobs that entered a ready state.
    #[serde(skip_serializing_if = "is_zero")]
    pub became_ready: u64,
    /// Jobs that left a ready state.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_ready: u64,
    /// The most ready jobs that a node saw, looking once a minute. The only count of which the greater one stays instead of the
    /// sum: every node sees the jobs of all.
    #[serde(skip_serializing_if = "is_zero")]
    pub backlog: u64,
    /// How long jobs were claimable before each claim.
    #[serde(skip_serializing_if = "SpanCounts::is_empty")]
    pub wait: SpanCounts,
    /// Run times of finished jobs.
    #[serde(skip_serializing_if = "SpanCounts::is_empty")]
    pub run: SpanCounts,
}

/// How many durations fell into each bucket of a histogram. The crate that counts them decides which durations a bucket has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanCounts(BTreeMap<u8, u64>);

/// What a node counted in one minute. Reports of a node are numbered, and one that is repeated counts once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsReport {
    /// New with each start.
    pub node: Name,
    pub number: u64,
    /// The start of the minute.
    pub minute: Timestamp,
    pub counts: Vec<(Series, PeriodCounts)>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Resolution {
    pub const ALL: [Self; 4] = [Self::Minute, Self::FiveMinutes, Self::Hour, Self::Day];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::FiveMinutes => "five_minutes",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resolution| resolution.as_str() == text)
    }

    pub fn length(self) -> Millis {
        match self {
            Self::Minute => Millis(MINUTE_MS),
            Self::FiveMinutes => Millis(5 * MINUTE_MS),
            Self::Hour => Millis(60 * MINUTE_MS),
            Self::Day => Millis(DAY_MS),
        }
    }

    /// How long after its start a period is kept.
    pub fn kept(self) -> Millis {
        match self {
            Self::Minute => Millis(4 * 60 * MINUTE_MS),
            Self::FiveMinutes => Millis(8 * DAY_MS),
            // The whole day that began 90 days ago.
            Self::Hour | Self::Day => Millis(91 * DAY_MS),
        }
    }

    /// The start of the period that contains a time.
    pub fn start(self, at: Timestamp) -> Timestamp {
        let length = self.length().0 as i64;
        Timestamp(at.0.div_euclid(length) * length)
    }
}

impl Series {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Type(_) => "type",
            Self::Queue(_) => "queue",
        }
    }

    /// The type or queue; empty for all.
    pub fn name(&self) -> &str {
        match self {
            Self::All => "",
            Self::Type(name) => name.as_str(),
            Self::Queue(name) => name.as_str(),
        }
    }

    pub fn parse(kind: &str, name: &str) -> Option<Self> {
        match kind {
            "all" => Some(Self::All),
            "type" => Some(Self::Type(name.into())),
            "queue" => Some(Self::Queue(name.into())),
            _ => None,
        }
    }
}

impl PeriodId {
    pub fn new(resolution: Resolution, series: Series, at: Timestamp) -> Self {
        Self { resolution, series, start: resolution.start(at) }
    }

    pub fn expires_at(&self) -> Timestamp {
        self.start + self.resolution.kept()
    }
}

impl PeriodCounts {
    pub fn add(&mut self, other: &Self) {
        self.created += other.created;
        self.finished += other.finished;
        self.succeeded += other.succeeded;
        self.failed_jobs += other.failed_jobs;
        self.failed_attempts += other.failed_attempts;
        self.became_ready += other.became_ready;
        self.left_ready += other.left_ready;
        self.backlog = self.backlog.max(other.backlog);
        self.wait.add(&other.wait);
        self.run.add(&other.run);
    }

    /// The share of jobs that failed among those that succeeded or failed; `None` if there are none.
    pub fn failure_rate(&self) -> Option<f64> {
        let judged = self.succeeded + self.failed_jobs;
        (judged > 0).then(|| self.failed_jobs as f64 / judged as f64)
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl SpanCounts {
    pub fn count(&mut self, bucket: u8, more: u64) {
        if more > 0 {
            *self.0.entry(bucket).or_default() += more;
        }
    }

    fn add(&mut self, other: &Self) {
        other.buckets().for_each(|(bucket, count)| self.count(bucket, count));
    }

    /// Buckets with a count, in order.
    pub fn buckets(&self) -> impl Iterator<Item = (u8, u64)> {
        self.0.iter().map(|(bucket, count)| (*bucket, *count))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl StatisticsReport {
    /// The periods to which it adds, with what it adds.
    pub fn periods(&self) -> impl Iterator<Item = (PeriodId, &PeriodCounts)> {
        self.counts.iter().flat_map(|(series, counts)| {
            let id = |resolution| PeriodId::new(resolution, series.clone(), self.minute);
            Resolution::ALL.map(|resolution| (id(resolution), counts))
        })
    }
}
