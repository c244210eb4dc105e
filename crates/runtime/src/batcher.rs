//! Batching: a bounded queue of commands, and batch workers that take what was queued while the last commit was in
//! flight. There is no timer: the duration of a commit determines the size of the next batch. `command_queue` decides the
//! order, and what is refused.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::command_queue::{CommandOrder, QueueLimits, Urgency, bytes};
use crate::failure::Failure;
use crate::options::Options;
use crate::prelude::*;
use crate::{Answer, Runtime};

/// Yields before a batch is taken, so that callers answered by the last commit can enqueue again. On an idle machine this
/// costs a few microseconds.
const YIELDS_BEFORE_BATCH: usize = 5;

/// A queued command.
pub(crate) struct QueuedCommand {
    pub(crate) envelope: CommandEnvelope,
    pub(crate) reply: Reply,
}

pub(crate) type Reply = oneshot::Sender<Answer>;

/// Commands that commit together.
pub(crate) struct Batch {
    pub(crate) commands: Arc<[CommandEnvelope]>,
    pub(crate) replies: Vec<Reply>,
}

#[derive(Clone)]
pub(crate) struct CommandQueue {
    shared: Arc<Shared>,
    is_short_of_memory: Arc<dyn Fn() -> bool + Send + Sync>,
}

struct Shared {
    queued: Mutex<Queued>,
    arrived: Notify,
    /// Held by the batch worker that takes the next batch.
    turn: tokio::sync::Mutex<()>,
    receivers: AtomicUsize,
}

struct Queued {
    commands: CommandOrder<QueuedCommand>,
    is_closed: bool,
}

/// The receiving end of the queue, one for each batch worker.
pub(crate) struct BatchReceiver {
    shared: Arc<Shared>,
    stopping: watch::Receiver<bool>,
}

pub(crate) fn queue(options: &Options, stopping: watch::Receiver<bool>) -> (CommandQueue, BatchReceiver) {
    let limits = QueueLimits {
        commands: options.queue_commands_max,
        bytes: options.queue_bytes_max,
        batch_commands: options.batch_commands_max,
        batch_bytes: options.batch_bytes_max,
    };
    let queued = Queued { commands: CommandOrder::new(limits), is_closed: false };
    let shared = Arc::new(Shared {
        queued: Mutex::new(queued),
        arrived: Notify::new(),
        turn: tokio::sync::Mutex::new(()),
        receivers: AtomicUsize::new(1),
    });
    let is_short_of_memory = Arc::clone(&options.is_short_of_memory);
    (CommandQueue { shared: Arc::clone(&shared), is_short_of_memory }, BatchReceiver { shared, stopping })
}

impl Shared {
    fn queued(&self) -> MutexGuard<'_, Queued> {
        self.queued.lock().expect("no thread panics while holding the lock")
    }
}

impl Runtime {
    /// Whether a creation would be queued now. If not, it is refused, and need not be read.
    pub fn accepts_creations(&self) -> bool {
        self.inner.queue.accepts_creations()
    }

    pub fn queued_commands(&self) -> usize {
        self.inner.queue.waiting()
    }
}

impl CommandQueue {
    /// Queues a command, or answers `Overloaded`.
    pub(crate) fn put(&self, envelope: CommandEnvelope) -> Result<oneshot::Receiver<Answer>, Failure> {
        let (urgency, bytes) = (Urgency::of(&envelope.command), bytes(&envelope.command));
        if urgency == Urgency::Creation && (self.is_short_of_memory)() {
            return Err(Failure::Overloaded);
        }
        let (reply, answer) = oneshot::channel();
        let (now, mut queued) = (Instant::now(), self.shared.queued());
        if queued.is_closed {
            return Err(Failure::Stopped);
        }
        if !queued.commands.accepts(urgency, bytes, now) {
            return Err(Failure::Overloaded);
        }
        queued.commands.put(urgency, bytes, QueuedCommand { envelope, reply }, now);
        drop(queued);
        self.shared.arrived.notify_one();
        Ok(answer)
    }

    /// Queues a command again that its batch could not decide.
    pub(crate) fn put_back(&self, command: QueuedCommand) {
        let (urgency, bytes) = (Urgency::of(&command.envelope.command), bytes(&command.envelope.command));
        let mut queued = self.shared.queued();
        queued.commands.put(urgency, bytes, command, Instant::now());
        drop(queued);
        self.shared.arrived.notify_one();
    }

    /// Whether a creation would be queued now.
    pub(crate) fn accepts_creations(&self) -> bool {
        !(self.is_short_of_memory)()
            && self.shared.queued().commands.accepts(Urgency::Creation, 0, Instant::now())
    }

    /// The number of queued commands.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.queued().commands.len()
    }
}

impl fmt::Debug for CommandQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandQueue").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

impl BatchReceiver {
    /// What was queued, at least one command. Once the runtime is stopping, queued commands are still answered, then
    /// `None`.
    pub(crate) async fn batch(&mut self) -> Option<Batch> {
        let _turn = self.shared.turn.lock().await;
        loop {
            // Registered before the look, so that a command that is queued in between wakes it.
            let arrived = self.shared.arrived.notified();
            let (is_empty, is_closed) = {
                let mut queued = self.shared.queued();
                queued.is_closed |= *self.stopping.borrow();
                (queued.commands.len() == 0, queued.is_closed)
            };
            if !is_empty {
                break;
            }
            if is_closed {
                return None;
            }
            tokio::select! {
                biased;
                () = arrived => {}
                () = stop(&mut self.stopping) => self.shared.queued().is_closed = true,
            }
        }
        for _ in 0..YIELDS_BEFORE_BATCH {
            tokio::task::yield_now().await;
        }
        Some(Batch::of(self.shared.queued().commands.take_batch()))
    }
}

impl Clone for BatchReceiver {
    fn clone(&self) -> Self {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::clone(&self.shared), stopping: self.stopping.clone() }
    }
}

impl Drop for BatchReceiver {
    /// Without a receiver no command is answered: their callers learn it.
    fn drop(&mut self) {
        if self.shared.receivers.fetch_sub(1, Ordering::Relaxed) == 1
            && let Ok(mut queued) = self.shared.queued.lock()
        {
            queued.is_closed = true;
            queued.commands.clear();
        }
    }
}

/// Resolves when the runtime is stopping or was dropped.
async fn stop(stopping: &mut watch::Receiver<bool>) {
    drop(stopping.wait_for(|stopping| *stopping).await);
}

impl Batch {
    fn of(waiting: Vec<QueuedCommand>) -> Self {
        let (commands, replies): (Vec<CommandEnvelope>, _) =
            waiting.into_iter().map(|QueuedCommand { envelope, reply }| (envelope, reply)).unzip();
        Self { commands: commands.into(), replies }
    }

    /// With further commands at its end.
    pub(crate) fn followed_by(self, more: Vec<QueuedCommand>) -> Self {
        if more.is_empty() {
            return self;
        }
        let Self { commands, mut replies } = self;
        let mut commands = commands.to_vec();
        for QueuedCommand { envelope, reply } in more {
            commands.push(envelope);
            replies.push(reply);
        }
        Self { commands: commands.into(), replies }
    }

    /// The first and the second half of its commands.
    pub(crate) fn halves(self) -> (Self, Self) {
        let (mut commands, mut replies) = (self.commands.to_vec(), self.replies);
        let middle = commands.len().div_ceil(2);
        let (later, later_replies) = (commands.split_off(middle), replies.split_off(middle));
        let batch = |commands: Vec<CommandEnvelope>, replies| Self { commands: commands.into(), replies };
        (batch(commands, replies), batch(later, later_replies))
    }

    pub(crate) fn partition(self, is: impl Fn(&CommandEnvelope) -> bool) -> (Self, Self) {
        let waiting = self.commands.iter().cloned().zip(self.replies);
        let waiting = waiting.map(|(envelope, reply)| QueuedCommand { envelope, reply });
        let (these, those) = waiting.partition(|waiting: &QueuedCommand| is(&waiting.envelope));
        (Self::of(these), Self::of(those))
    }
}
