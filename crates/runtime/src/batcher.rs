//! Batching: a bounded queue of commands, and batch workers that take everything queued while the last commit was in
//! flight. There is no timer: the duration of a commit determines the size of the next batch.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot, watch};

use crate::Answer;
use crate::failure::Failure;
use crate::options::Options;
use crate::prelude::*;

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

#[derive(Clone, Debug)]
pub(crate) struct CommandQueue {
    sender: mpsc::Sender<QueuedCommand>,
}

/// The receiving end of the queue, shared by the batch workers.
#[derive(Clone)]
pub(crate) struct BatchReceiver {
    receiver: Arc<Mutex<mpsc::Receiver<QueuedCommand>>>,
    batch_commands_max: usize,
    stopping: watch::Receiver<bool>,
}

pub(crate) fn queue(options: &Options, stopping: watch::Receiver<bool>) -> (CommandQueue, BatchReceiver) {
    let (sender, receiver) = mpsc::channel(options.queue_commands_max);
    let (receiver, batch_commands_max) = (Arc::new(Mutex::new(receiver)), options.batch_commands_max);
    (CommandQueue { sender }, BatchReceiver { receiver, batch_commands_max, stopping })
}

impl CommandQueue {
    /// Queues a command, or answers `Overloaded`. The last fifth of the queue is reserved for lease holders, cancels and
    /// the clock; commands that create or claim jobs are refused first.
    pub(crate) fn put(&self, envelope: CommandEnvelope) -> Result<oneshot::Receiver<Answer>, Failure> {
        let is_shed_first = envelope.command.adds_work() || matches!(envelope.command, Command::Claim(_));
        if is_shed_first && self.sender.capacity() * 5 < self.sender.max_capacity() {
            return Err(Failure::Overloaded);
        }
        let (reply, answer) = oneshot::channel();
        match self.sender.try_send(QueuedCommand { envelope, reply }) {
            Ok(()) => Ok(answer),
            Err(mpsc::error::TrySendError::Full(_)) => Err(Failure::Overloaded),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Failure::Stopped),
        }
    }

    /// The number of queued commands.
    pub(crate) fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }
}

impl BatchReceiver {
    /// Everything queued, at least one command. Once the runtime is stopping, queued commands are still answered, then
    /// `None`.
    pub(crate) async fn batch(&mut self) -> Option<Batch> {
        let mut receiver = self.receiver.lock().await;
        let first = tokio::select! {
            biased;
            first = receiver.recv() => first,
            () = stop(&mut self.stopping) => {
                receiver.close();
                receiver.recv().await
            }
        };
        let mut waiting = vec![first?];
        for _ in 0..YIELDS_BEFORE_BATCH {
            tokio::task::yield_now().await;
        }
        while waiting.len() < self.batch_commands_max
            && let Ok(next) = receiver.try_recv()
        {
            waiting.push(next);
        }
        Some(Batch::of(waiting))
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

    pub(crate) fn partition(self, is: impl Fn(&CommandEnvelope) -> bool) -> (Self, Self) {
        let waiting = self.commands.iter().cloned().zip(self.replies);
        let waiting = waiting.map(|(envelope, reply)| QueuedCommand { envelope, reply });
        let (these, those) = waiting.partition(|waiting: &QueuedCommand| is(&waiting.envelope));
        (Self::of(these), Self::of(those))
    }
}
