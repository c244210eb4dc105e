//! Commands: every request that changes something, as a parsed value.

mod configuration;
mod key_id;
mod verb;

use std::sync::Arc;

use uuid::Uuid;

use crate::api_key::{KeyUse, NewKey, RotateKey};
use crate::asset::{NewAsset, Upload};
use crate::command_origin::CommandOrigin;
pub use crate::command_origin::Reader;
use crate::dead_letter::ReasonCode;
use crate::erasure::Erase;
use crate::flow::{Declarations, FlowKeys, SequenceId};
use crate::id::{Fence, JobId, LifecycleName, Name, QueueName, ResourceName, TypeName, UserId, WorkerId};
use crate::intake::IntakeRequest;
use crate::job::{CancelMode, JobError, LifecycleRef, Links};
use crate::json::Json;
use crate::lifecycle::Trigger;
use crate::node::NodeRecord;
use crate::schedule::{Fire, NewSchedule, ScheduleChange};
use crate::session::NewSession;
use crate::statistics::StatisticsReport;
use crate::time::{Millis, Timestamp};
use crate::webhook::{NewWebhook, WebhookChange};

pub use crate::flow::{PauseRequest, ResourceChange};
pub use crate::worker::WorkerSighting;
pub use configuration::ConfigurationChange;
pub use key_id::{GENERATED_KEY_PREFIX, KeyId};

/// A command with its origin and idempotency key.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandEnvelope {
    pub by: CommandOrigin,
    /// The caller's idempotency key for this verb. The key of a creation is in [`Create`].
    pub key: Option<IdempotencyKey>,
    pub command: Command,
}

impl CommandEnvelope {
    /// Tells a creation how long its user has to wait because of the rate limit.
    #[must_use]
    pub fn throttled(mut self, throttled: Option<Millis>) -> Self {
        if let Command::Create(create) = &mut self.command {
            create.throttled = throttled;
        }
        self
    }
}

/// An idempotency key and the digest of the request body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub key: Name,
    /// Digest of the canonical body: the same key with a different body is refused.
    pub fingerprint: [u8; 32],
}

/// A request to change something.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Create(Box<Create>),
    Claim(Claim),
    /// A worker's verb for a job that it holds, or an operator's `reject` of a job without a lease.
    Report(Box<Report>),
    Heartbeat(Hold),
    Progress {
        hold: Hold,
        percent: f64,
        message: Option<String>,
    },
    Log(AppendLog),
    /// The upload of an asset's content begins or continues.
    Upload(Upload),
    AddAsset(Box<NewAsset>),
    /// Drops garbage records whose objects have been deleted, by storage path.
    ForgetGarbage(Vec<String>),
    Cancel(Cancel),
    /// Judges requests that applications have committed in SQL, in order.
    TakeIn(Vec<IntakeRequest>),
    DeadLetter {
        job: JobId,
        reason: ReasonCode,
        detail: String,
    },
    /// A signal that the lifecycle declares.
    Signal {
        job: JobId,
        name: Name,
        payload: Option<Json>,
    },
    /// Creates a copy of a finished job.
    Retry(Retry),
    Amend(Box<Amend>),
    /// Deletes a finished job.
    Delete {
        job: JobId,
        reason: Option<String>,
    },
    /// Opens the erasure of a user.
    Erase(Box<Erase>),
    /// Deletes a finished job that the open erasure of its user covers.
    DeleteErased {
        user: UserId,
        job: JobId,
    },
    /// Ends an erasure of which no job is left.
    FinishErasure(UserId),
    /// The connection of the worker that holds the job was closed.
    Disconnect(Hold),
    DismissDeadLetter {
        job: JobId,
        reason: String,
    },
    PauseQueue {
        queue: QueueName,
        paused: bool,
    },
    /// Puts the declarations of flow control of a node that starts in force.
    DeclareFlow(Arc<Declarations>),
    /// An operator changes a resource.
    ChangeResource {
        resource: ResourceName,
        change: ResourceChange,
    },
    /// Resumes a halted sequence with its next job.
    ResumeSequence(SequenceId),
    GrantCredits {
        user: UserId,
        amount: u64,
        reason: Option<String>,
    },
    RegisterLifecycle {
        lifecycle: LifecycleRef,
        source: String,
        /// Whether the store had lifecycles before: then a new version is written to the audit log.
        is_update: bool,
    },
    /// A node starts with, or loads, another configuration than the last one.
    RecordConfiguration(Box<ConfigurationChange>),
    AddKey(Box<NewKey>),
    RotateKey(RotateKey),
    RevokeKey(Name),
    /// Keys that were used on this node since its last report.
    KeysUsed(Vec<KeyUse>),
    BeginSession(Box<NewSession>),
    /// Ends the session with this digest.
    EndSession(Name),
    AddSchedule(Box<NewSchedule>),
    ChangeSchedule {
        id: Name,
        change: ScheduleChange,
    },
    /// A schedule is due.
    Fire(Box<Fire>),
    AddWebhook(Box<NewWebhook>),
    ChangeWebhook {
        id: Name,
        change: WebhookChange,
    },
    /// Workers seen by this node since its last report.
    WorkersSeen(Vec<WorkerSighting>),
    /// `seen_at` of the record is replaced by the store's time.
    NodeHeartbeat(Box<NodeRecord>),
    /// What a node counted in a minute.
    AddStatistics(Box<StatisticsReport>),
    /// Gives a worker's name to its newest connection.
    BindWorkerConnection {
        worker: WorkerId,
        credential: Name,
        connection: Uuid,
    },
    /// Records the idempotency key of a request that consists of several commands, before these: the same key with another
    /// body is refused as a whole. The scope is the call and the caller's user.
    KeyRequest {
        scope: Name,
        /// Whether the commands add work.
        adds_work: bool,
    },
    /// Fires the overdue clocks of one job. They fire before the next command on the job in any case.
    Sweep(JobId),
    /// Deletes a job whose retention has ended.
    Purge(JobId),
    /// Deletes expired telemetry, idempotency keys, statistics and worker records.
    Prune,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// Generated by the submitting node, so that core needs no randomness.
    pub id: JobId,
    pub job_type: TypeName,
    /// Only for the catch-all type: the lifecycle to follow.
    pub lifecycle: Option<LifecycleName>,
    pub payload: Json,
    pub user_id: Option<UserId>,
    /// `None` in the next three: the type's default.
    pub queue: Option<QueueName>,
    pub priority: Option<i32>,
    pub max_attempts: Option<u32>,
    pub when: When,
    pub links: Links,
    pub key: CreationKey,
    pub flow: FlowKeys,
    /// Whether the `waiting` limits of resources apply: not to jobs of schedules.
    pub is_limited: bool,
    /// Existing jobs that the caller may read.
    pub reader: Reader,
    /// Set when the user is over the rate limit: how long to wait. Ignored for a replay.
    pub throttled: Option<Millis>,
}

/// New values of a job that no worker holds. `None` stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Amend {
    pub job: JobId,
    pub job_type: TypeName,
    pub payload: Option<Json>,
    pub priority: Option<i32>,
    pub run_at: Option<Timestamp>,
    /// The keys for the new payload, if there is one.
    pub flow: Option<FlowKeys>,
    /// Refused unless this is the job's `seq`.
    pub if_seq: Option<u32>,
}

/// The earliest time at which a new job may be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Now,
    At(Timestamp),
    In(Millis),
}

/// How a repeated creation is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreationKey {
    None,
    Given(IdempotencyKey),
    /// By the lifecycle's `derive` list.
    Derived {
        /// Digest of the parts other than the minute.
        digest: [u8; 32],
        /// Whether `minute` is in the list.
        by_minute: bool,
        /// The submitting node's minute: at most a few away from the store's.
        about_minute: i64,
    },
}

/// A job and the lease under which a worker acts on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub job: JobId,
    pub worker: WorkerId,
    pub fence: Fence,
}

impl Hold {
    pub fn holder(self) -> Holder {
        Holder { worker: self.worker, fence: self.fence }
    }
}

/// The worker and fence that a caller presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub worker: WorkerId,
    pub fence: Fence,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub worker: WorkerId,
    pub filter: ClaimFilter,
    pub max: u32,
    /// A repeated request of the same worker returns the same jobs.
    pub request_id: Option<Name>,
    /// Also makes the `start` transition, where the lifecycle has one.
    pub start: bool,
}

/// The jobs that a claim accepts. `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimFilter {
    pub types: Option<Vec<TypeName>>,
    pub queues: Option<Vec<QueueName>>,
}

impl ClaimFilter {
    pub fn admits(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.contains(queue))
            && self.types.as_ref().is_none_or(|types| types.contains(job_type))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub job: JobId,
    /// `None` for an operator's `reject`.
    pub holder: Option<Holder>,
    pub verb: Verb,
}

/// The verbs of a worker that holds a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    Start,
    Succeed { result: Option<Json>, error: Option<JobError> },
    Partial { result: Option<Json>, error: Option<JobError> },
    Fail { error: JobError, retry_after: Option<Millis>, pause: Option<PauseRequest> },
    Reject { reason: String },
    Release { checkpoint: Option<Json>, delay: Option<Millis>, pause: Option<PauseRequest> },
    CancelConfirm { checkpoint: Option<Json>, result: Option<Json> },
}

impl Verb {
    /// The lifecycle trigger of this verb.
    pub fn trigger(&self) -> Trigger {
        match self {
            Self::Start => Trigger::Start,
            Self::Succeed { .. } => Trigger::Succeed,
            Self::Partial { .. } => Trigger::Partial,
            Self::Fail { .. } => Trigger::Fail,
            Self::Reject { .. } => Trigger::Reject,
            Self::Release { .. } => Trigger::Release,
            Self::CancelConfirm { .. } => Trigger::Cancel,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendLog {
    pub job: JobId,
    /// `None` for the job's owner or an operator.
    pub holder: Option<Holder>,
    pub lines: Vec<NewLogLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLogLine {
    pub stream: Name,
    pub level: Name,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancel {
    pub job: JobId,
    pub mode: CancelMode,
    pub reason: Option<String>,
}

/// Creates a copy of a finished job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The finished job.
    pub job: JobId,
    /// The id of the copy.
    pub id: JobId,
    pub when: When,
}

impl Command {
    /// Whether the command adds work. When the queue is nearly full or the disk is full, these commands are refused
    /// first, so that running work can still finish.
    pub fn adds_work(&self) -> bool {
        matches!(
            self,
            Self::Create(_)
                | Self::TakeIn(_)
                | Self::Retry(_)
                | Self::Fire(_)
                | Self::ChangeSchedule { change: ScheduleChange::Run(_), .. }
                | Self::KeyRequest { adds_work: true, .. }
        )
    }
}
