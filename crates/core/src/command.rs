//! What someone asks, as a value: one variant for each request, parsed and named before it gets here.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::api_key::Role;
use crate::asset::{NewAsset, Upload};
use crate::dead_letter::ReasonCode;
use crate::id::{Actor, Fence, JobId, Name};
use crate::job::{CancelMode, JobError, LifecycleRef, Links};
use crate::json::Json;
use crate::lifecycle::Trigger;
use crate::node::NodeSeen;
use crate::schedule::{Fire, NewSchedule, ScheduleChange};
use crate::time::{Millis, Timestamp};
use crate::webhook::{NewWebhook, WebhookChange};

/// A command, who asks it, and the key under which its repeat is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Who.
    pub by: Actor,
    /// The caller's idempotency key for this verb. A creation's key is in [`Create`].
    pub key: Option<GivenKey>,
    /// What.
    pub command: Command,
}

impl Asked {
    /// The same; a creation is told whether its user has made too many in a while.
    #[must_use]
    pub fn throttled(mut self, throttled: Option<Millis>) -> Self {
        if let Command::Create(create) = &mut self.command {
            create.throttled = throttled;
        }
        self
    }
}

/// An idempotency key and the digest of the body that it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenKey {
    /// The caller's text.
    pub key: Name,
    /// Of the canonical body: the same key with another body is refused.
    pub fingerprint: [u8; 32],
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A new job.
    Create(Box<Create>),
    /// Work for a worker.
    Claim(Claim),
    /// A worker's word on a job that it holds; or an operator's `reject` of one that nobody holds.
    Report(Box<Report>),
    /// A worker lives.
    Heartbeat(Hold),
    /// How far a worker is.
    Progress(Hold, f64, Option<String>),
    /// Lines for a job's log; without a hold they are its owner's.
    Log(AppendLog),
    /// An object will be written for an asset, or still is.
    Upload(Upload),
    /// An asset of a job.
    AddAsset(Box<NewAsset>),
    /// Objects that were promised to the garbage, by their paths: they are deleted.
    ForgetGarbage(Vec<String>),
    /// Stop a job.
    Cancel(Cancel),
    /// Give a job up.
    DeadLetter(JobId, ReasonCode, String),
    /// A signal that the lifecycle declares.
    Signal(JobId, Name, Option<Json>),
    /// A new job like a finished one.
    Retry(Retry),
    /// A worker's connection is gone.
    Disconnect(Hold),
    /// An operator puts a dead letter aside.
    Dismiss(JobId, String),
    /// An operator pauses (`true`) or resumes a queue.
    Pause(Name, bool),
    /// Credits for a user.
    Grant(Name, u64, Option<String>),
    /// A lifecycle file comes into force.
    Register(LifecycleRef, String),
    /// A key for a caller.
    AddKey(Box<NewKey>),
    /// A caller's key opens nothing any more.
    RevokeKey(Name),
    /// A schedule.
    AddSchedule(Box<NewSchedule>),
    /// A schedule is paused, resumed or removed.
    ChangeSchedule(Name, ScheduleChange),
    /// A schedule's time has come.
    Fire(Box<Fire>),
    /// A webhook.
    AddWebhook(Box<NewWebhook>),
    /// A webhook's deliveries went on, or it is removed.
    ChangeWebhook(Name, WebhookChange),
    /// Workers that were heard since the last time, each with the credential that it came with.
    Seen(Vec<(Name, Option<Name>)>),
    /// A node tells of itself; its `seen_at` is the store's to say.
    SeenNode(Box<NodeSeen>),
    /// A worker with this credential came by this connection, which has its name from now on.
    Seat(Name, Name, Uuid),
    /// Look at the clock of one job: promptness, not truth.
    Sweep(JobId),
    /// Forget a job whose retention is over.
    Purge(JobId),
    /// Forget telemetry, idempotency keys and workers that are past their time.
    Prune,
}

/// A new job.
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// Made by the caller's side, so that the core needs no chance.
    pub id: JobId,
    /// What kind of work.
    pub job_type: Name,
    /// Only for the catch-all type: the lifecycle to follow.
    pub lifecycle: Option<Name>,
    /// The work.
    pub payload: Json,
    /// Whose.
    pub user_id: Option<Name>,
    /// Instead of the type's.
    pub queue: Option<Name>,
    /// Instead of the type's.
    pub priority: Option<i32>,
    /// Instead of the type's.
    pub max_attempts: Option<u32>,
    /// When it may be claimed.
    pub when: When,
    /// Correlation and trace.
    pub links: Links,
    /// How its repeat is known.
    pub key: CreationKey,
    /// Set where its user has made too many in a while: how long to wait. It does not count for a repeat.
    pub throttled: Option<Millis>,
}

/// When a new job may be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// At this time.
    At(Timestamp),
    /// After this span.
    In(Millis),
}

/// How the repeat of a creation is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreationKey {
    /// By nothing.
    None,
    /// By the caller's key.
    Given(GivenKey),
    /// By the digest of the lifecycle's `derive` list without the minute, and whether the minute counts too.
    Derived {
        /// Of the parts besides the minute.
        digest: [u8; 32],
        /// Whether `minute` is in the list.
        by_minute: bool,
        /// The minute that the caller's side believes it is: the judge's is at most a few away.
        about_minute: i64,
    },
}

/// A worker and the fence that it was handed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Which job.
    pub job: JobId,
    /// Who.
    pub worker: Name,
    /// Under which lease.
    pub fence: Fence,
}

/// Work for a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who wants it.
    pub worker: Name,
    /// Which jobs will do.
    pub filter: ClaimFilter,
    /// How many.
    pub max: u32,
    /// The same worker's same request again gets the same jobs.
    pub request_id: Option<Name>,
    /// Also make the `start` transition, where there is one.
    pub start: bool,
}

/// Which jobs will do. `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimFilter {
    /// Of these types.
    pub types: Option<Vec<Name>>,
    /// In these queues.
    pub queues: Option<Vec<Name>>,
}

impl ClaimFilter {
    /// Whether a job of this queue and type will do.
    pub fn admits(&self, queue: &Name, job_type: &Name) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.contains(queue))
            && self.types.as_ref().is_none_or(|types| types.contains(job_type))
    }
}

/// A worker's word on a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Which job.
    pub job: JobId,
    /// Who, under which fence; nobody for an operator's `reject`.
    pub holder: Option<(Name, Fence)>,
    /// What.
    pub verb: Verb,
}

/// What a worker can say.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the spec's, and say all there is")]
pub enum Verb {
    Start,
    Succeed { result: Option<Json>, error: Option<JobError> },
    Partial { result: Option<Json>, error: Option<JobError> },
    Fail { error: JobError, retry_after: Option<Millis> },
    Reject { reason: String },
    Release { checkpoint: Option<Json>, delay: Option<Millis> },
    CancelConfirm { checkpoint: Option<Json>, result: Option<Json> },
}

impl Verb {
    /// The trigger that it is in a lifecycle.
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

/// Lines for a job's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendLog {
    /// Which job.
    pub job: JobId,
    /// The worker and its fence; `None` for the job's owner or an operator.
    pub holder: Option<(Name, Fence)>,
    /// Stream, level, text.
    pub lines: Vec<(Name, Name, String)>,
}

/// Stop a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// Which job.
    pub job: JobId,
    /// How.
    pub mode: CancelMode,
    /// Why.
    pub reason: Option<String>,
}

/// A new job like a finished one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The finished one.
    pub job: JobId,
    /// The new one's id.
    pub id: JobId,
    /// When the new one may be claimed.
    pub when: When,
}

/// A key for a caller, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Made by the caller's side, like its secret.
    pub id: Name,
    /// What its holder may do.
    pub role: Role,
    /// The user whose jobs its holder's are; a producer's key needs one.
    pub user_id: Option<Name>,
    /// Of the secret.
    pub digest: [u8; 32],
}

/// The id under which an idempotency key is kept: a digest of its scope and itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 16]);

impl KeyId {
    /// Of parts, each with its length, so that no two lists of parts are alike.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self(id)
    }
}

impl Command {
    /// The verb as idempotency scopes and metrics name it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Claim(_) => "claim",
            Self::Report(report) => match report.verb {
                Verb::Start => "start",
                Verb::Succeed { .. } => "succeed",
                Verb::Partial { .. } => "partial",
                Verb::Fail { .. } => "fail",
                Verb::Reject { .. } => "reject",
                Verb::Release { .. } => "release",
                Verb::CancelConfirm { .. } => "cancel-confirm",
            },
            Self::Heartbeat(_) => "heartbeat",
            Self::Progress(..) => "progress",
            Self::Log(_) => "log",
            Self::Upload(_) => "upload",
            Self::AddAsset(_) => "add-asset",
            Self::ForgetGarbage(_) => "forget-garbage",
            Self::Cancel(_) => "cancel",
            Self::DeadLetter(..) => "dead-letter",
            Self::Signal(..) => "signal",
            Self::Retry(_) => "retry",
            Self::Disconnect(_) => "disconnect",
            Self::Dismiss(..) => "dismiss",
            Self::Pause(..) => "pause",
            Self::Grant(..) => "grant",
            Self::Register(..) => "register",
            Self::AddKey(_) => "add-key",
            Self::RevokeKey(_) => "revoke-key",
            Self::AddSchedule(_) => "add-schedule",
            Self::ChangeSchedule(..) => "change-schedule",
            Self::Fire(_) => "fire",
            Self::AddWebhook(_) => "add-webhook",
            Self::ChangeWebhook(..) => "change-webhook",
            Self::Seen(_) => "seen",
            Self::SeenNode(_) => "seen-node",
            Self::Seat(..) => "seat",
            Self::Sweep(_) => "sweep",
            Self::Purge(_) => "purge",
            Self::Prune => "prune",
        }
    }

    /// The job that it is about, if it is about one that is there already.
    pub fn job(&self) -> Option<JobId> {
        match self {
            Self::Report(report) => Some(report.job),
            Self::Heartbeat(hold) | Self::Progress(hold, ..) | Self::Disconnect(hold) => Some(hold.job),
            Self::Log(log) => Some(log.job),
            Self::Upload(upload) => Some(upload.job),
            Self::AddAsset(new) => Some(new.job),
            Self::Cancel(cancel) => Some(cancel.job),
            Self::Retry(retry) => Some(retry.job),
            Self::Fire(fire) => fire.last_job,
            Self::DeadLetter(job, ..)
            | Self::Signal(job, ..)
            | Self::Dismiss(job, _)
            | Self::Sweep(job)
            | Self::Purge(job) => Some(*job),
            Self::Create(_)
            | Self::Claim(_)
            | Self::Pause(..)
            | Self::Grant(..)
            | Self::Register(..)
            | Self::AddKey(_)
            | Self::RevokeKey(_)
            | Self::AddSchedule(_)
            | Self::ChangeSchedule(..)
            | Self::AddWebhook(_)
            | Self::ChangeWebhook(..)
            | Self::Seen(_)
            | Self::SeenNode(_)
            | Self::Seat(..)
            | Self::ForgetGarbage(_)
            | Self::Prune => None,
        }
    }
}
