//! The order of queued commands, without tasks and clocks: commands that add work wait behind all others and are refused
//! first, so that a node with too many creations still answers reports, heartbeats, cancels, timers and claims.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_core::command::Verb;
use tenure_core::intake::{IntakeAction, IntakeRequest};
use tenure_core::job::JobError;
use tenure_core::json::Json;
use tokio::time::Instant;

use crate::prelude::*;

/// How long a creation waits before further ones are refused, if one batch cannot take all that are queued.
const CREATION_WAIT_MAX: Duration = Duration::from_millis(500);
/// The share of a batch that is for creations even if other commands would fill it.
const CREATION_SHARE: usize = 8;
/// The share of the queue that is reserved for commands which neither add work nor claim.
const RESERVED_SHARE: usize = 5;
/// Bytes of a command besides its texts, about.
const COMMAND_BYTES: usize = 300;

/// What may be queued, and taken at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub(crate) commands: usize,
    pub(crate) bytes: usize,
    pub(crate) batch_commands: usize,
    pub(crate) batch_bytes: usize,
}

/// How urgent a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Lets running work continue and end: reports, heartbeats, cancels, timers.
    Running,
    Claim,
    /// Adds work.
    Creation,
}

impl Urgency {
    pub(crate) fn of(command: &Command) -> Self {
        match command {
            Command::Claim(_) => Self::Claim,
            command if command.adds_work() => Self::Creation,
            _ => Self::Running,
        }
    }
}

/// What is queued when a command arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueLoad {
    pub(crate) commands: usize,
    pub(crate) bytes: usize,
    pub(crate) creations: usize,
    pub(crate) creation_bytes: usize,
    /// How long the oldest creation has waited.
    pub(crate) creations_waited: Duration,
}

impl QueueLoad {
    /// Whether a command of this urgency and size is queued; otherwise it is refused.
    pub(crate) fn accepts(&self, urgency: Urgency, bytes: usize, limits: &QueueLimits) -> bool {
        let (commands, bytes) = (self.commands + 1, self.bytes + bytes);
        // An empty queue accepts any command.
        let fits =
            |commands_max, bytes_max| commands <= commands_max && (bytes <= bytes_max || self.commands == 0);
        if urgency == Urgency::Running {
            return fits(limits.commands, limits.bytes);
        }
        let left = |max: usize| max - max / RESERVED_SHARE;
        let is_late = urgency == Urgency::Creation
            && self.creations_waited > CREATION_WAIT_MAX
            && (self.creations >= limits.batch_commands || self.creation_bytes >= limits.batch_bytes);
        !is_late && fits(left(limits.commands), left(limits.bytes))
    }
}

/// Queued commands, those that do not add work first.
#[derive(Debug)]
pub(crate) struct CommandOrder<T> {
    limits: QueueLimits,
    first: VecDeque<Waiting<T>>,
    creations: VecDeque<Waiting<T>>,
    bytes: usize,
    creation_bytes: usize,
}

#[derive(Debug)]
struct Waiting<T> {
    value: T,
    bytes: usize,
    since: Instant,
}

impl<T> CommandOrder<T> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        let (first, creations) = (VecDeque::new(), VecDeque::new());
        Self { limits, first, creations, bytes: 0, creation_bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.creations.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.limits);
    }

    /// Whether a command of this urgency and size is queued now.
    pub(crate) fn accepts(&self, urgency: Urgency, bytes: usize, now: Instant) -> bool {
        let waited = self.creations.front().map(|oldest| now.saturating_duration_since(oldest.since));
        let load = QueueLoad {
            commands: self.len(),
            bytes: self.bytes,
            creations: self.creations.len(),
            creation_bytes: self.creation_bytes,
            creations_waited: waited.unwrap_or_default(),
        };
        load.accepts(urgency, bytes, &self.limits)
    }

    /// Queues a command that was accepted.
    pub(crate) fn put(&mut self, urgency: Urgency, bytes: usize, value: T, now: Instant) {
        self.bytes += bytes;
        let entry = Waiting { value, bytes, since: now };
        if urgency == Urgency::Creation {
            self.creation_bytes += bytes;
            self.creations.push_back(entry);
        } else {
            self.first.push_back(entry);
        }
    }

    /// The next batch: at least one command if any is queued.
    pub(crate) fn take_batch(&mut self) -> Vec<T> {
        let QueueLimits { batch_commands: commands_max, batch_bytes: bytes_max, .. } = self.limits;
        let share = usize::from(!self.creations.is_empty());
        let first_max = commands_max - share * commands_max / CREATION_SHARE;
        let first_bytes_max = bytes_max - share * bytes_max / CREATION_SHARE;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        take(&mut self.first, &mut batch, &mut bytes, first_max, first_bytes_max);
        let before = bytes;
        take(&mut self.creations, &mut batch, &mut bytes, commands_max, bytes_max);
        self.creation_bytes -= bytes - before;
        // What creations have left of their share.
        take(&mut self.first, &mut batch, &mut bytes, commands_max, bytes_max);
        self.bytes -= bytes;
        batch
    }
}

/// Moves commands to a batch while it has room. An empty batch has room for any command.
fn take<T>(
    queue: &mut VecDeque<Waiting<T>>,
    batch: &mut Vec<T>,
    bytes: &mut usize,
    commands_max: usize,
    bytes_max: usize,
) {
    let has_room =
        |batch: &Vec<T>, next: usize| batch.is_empty() || (batch.len() < commands_max && next <= bytes_max);
    while let Some(entry) = queue.pop_front_if(|next| has_room(batch, *bytes + next.bytes)) {
        *bytes += entry.bytes;
        batch.push(entry.value);
    }
}

/// Bytes of a command, about: what callers choose the size of.
pub(crate) fn bytes(command: &Command) -> usize {
    let json = |text: &Option<Json>| text.as_ref().map_or(0, |text| text.as_str().len());
    let error = |error: &Option<JobError>| error.as_ref().map_or(0, error_bytes);
    let texts = match command {
        Command::Create(create) => create.payload.as_str().len(),
        Command::TakeIn(requests) => requests.iter().map(intake_bytes).sum(),
        Command::Report(report) => match &report.verb {
            Verb::Succeed { result, error: failed } | Verb::Partial { result, error: failed } => {
                json(result) + error(failed)
            }
            Verb::Fail { error, .. } => error_bytes(error),
            Verb::Release { checkpoint, .. } => json(checkpoint),
            Verb::CancelConfirm { checkpoint, result } => json(checkpoint) + json(result),
            Verb::Start | Verb::Reject { .. } => 0,
        },
        Command::Log(log) => {
            log.lines.iter().map(|line| line.text.len() + 2 * line.stream.as_str().len()).sum()
        }
        Command::Signal { payload, .. } => json(payload),
        Command::Amend(amend) => json(&amend.payload),
        _ => 0,
    };
    COMMAND_BYTES + texts
}

/// Bytes of a request of the intake, about.
fn intake_bytes(request: &IntakeRequest) -> usize {
    let texts = match &request.action {
        IntakeAction::Create { create: Ok(create), .. } => create.payload.as_str().len(),
        IntakeAction::Act { command: Ok(command), .. } => bytes(command),
        IntakeAction::Create { create: Err(_), .. } | IntakeAction::Act { command: Err(_), .. } => 0,
    };
    COMMAND_BYTES + texts
}

fn error_bytes(error: &JobError) -> usize {
    error.message.len() + error.details.as_ref().map_or(0, |details| details.as_str().len())
}

#[cfg(test)]
mod tests;
