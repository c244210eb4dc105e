//! Many callers, one batch: a bounded queue, and lanes that each take whatever has queued while the last commit was in
//! flight, and what callers that are just being served bring meanwhile. There is no timer: the commit itself sets the
//! pace.

use std::sync::Arc;

use tenure_core::command::{CommandEnvelope, Command};
use tenure_core::decide::CommandResult;
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use crate::failure::Failure;
use crate::options::Options;

/// How often a lane lets everybody else go first: those whom the last commit answered are then in its batch, too. Where
/// nobody else is it costs a few microseconds.
const YIELDS_BEFORE_BATCH: usize = 5;

/// A command and who waits for its answer.
pub(crate) struct Waiting {
    pub(crate) envelope: CommandEnvelope,
    pub(crate) reply: Reply,
}

/// Who waits for a command's answer.
pub(crate) type Reply = oneshot::Sender<Result<CommandResult, Failure>>;

/// Commands that commit together.
pub(crate) struct Batch {
    pub(crate) commands: Arc<[CommandEnvelope]>,
    pub(crate) replies: Vec<Reply>,
}

/// Where commands queue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    sender: mpsc::Sender<Waiting>,
}

/// Where lanes take batches.
#[derive(Clone)]
pub(crate) struct BatchReceiver {
    receiver: Arc<Mutex<mpsc::Receiver<Waiting>>>,
    batch_commands_max: usize,
    stopping: watch::Receiver<bool>,
}

pub(crate) fn queue(options: &Options, stopping: watch::Receiver<bool>) -> (Queue, BatchReceiver) {
    let (sender, receiver) = mpsc::channel(options.queue_commands_max);
    let (receiver, batch_commands_max) = (Arc::new(Mutex::new(receiver)), options.batch_commands_max);
    (Queue { sender }, BatchReceiver { receiver, batch_commands_max, stopping })
}

impl Queue {
    /// Queues a command, or answers `Overloaded`. The last fifth of the queue is reserved for lease holders, cancels and
    /// the clock; commands that create or claim jobs are refused first.
    pub(crate) fn put(&self, envelope: CommandEnvelope) -> Result<oneshot::Receiver<Result<CommandResult, Failure>>, Failure> {

        let is_shed_first = envelope.command.adds_work() || matches!(envelope.command, Command::Claim(_));
        if is_shed_first && self.sender.capacity() * 5 < self.sender.max_capacity() {
            return Err(Failure::Overloaded);
        }
        let (reply, answer) = oneshot::channel();
        match self.sender.try_send(Waiting { envelope, reply }) {
            Ok(()) => Ok(answer),
            Err(mpsc::error::TrySendError::Full(_)) => Err(Failure::Overloaded),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Failure::Stopped),
        }
    }

    /// How many commands wait.
    pub(crate) fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }
}

impl BatchReceiver {
    /// Whatever has queued, at least one command. Once stopping, no more are taken, those that wait are still
    /// answered, and then it is `None`.
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

/// Resolves when the runtime is stopping, or gone.
async fn stop(stopping: &mut watch::Receiver<bool>) {
    drop(stopping.wait_for(|stopping| *stopping).await);
}

impl Batch {
    fn of(waiting: Vec<Waiting>) -> Self {
        let (commands, replies): (Vec<CommandEnvelope>, _) =
            waiting.into_iter().map(|Waiting { envelope, reply }| (envelope, reply)).unzip();
        Self { commands: commands.into(), replies }
    }

    /// Those of which `is` holds, and the others.
    pub(crate) fn split(self, is: impl Fn(&CommandEnvelope) -> bool) -> (Self, Self) {
        let waiting = self.commands.iter().cloned().zip(self.replies);
        let waiting = waiting.map(|(envelope, reply)| Waiting { envelope, reply });
        let (these, those) = waiting.partition(|waiting: &Waiting| is(&waiting.envelope));
        (Self::of(these), Self::of(those))
    }
}
