//! The signal to a handler to stop, with its reason.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;

/// Why a handler should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// A cancel was requested: save a checkpoint and return `Fail::cancelled()`, or finish, and the result counts.
    SoftCancel,
    /// The worker shuts down and its drain time is over: return `Fail::release()`; otherwise the handler is dropped after
    /// a second and the job released.
    Shutdown,
    /// The server has ended the attempt: cancelled, dead-lettered or timed out. The handler is dropped at its next `await`.
    HardCancel,
    /// The lease is lost: another worker may hold the job. The handler is dropped at its next `await`.
    LeaseLost,
}

impl Stop {
    /// Whether the handler's result no longer counts.
    pub fn is_over(self) -> bool {
        matches!(self, Self::HardCancel | Self::LeaseLost)
    }
}

/// The sender of a [`Stop`], which may become stronger and is never taken back.
#[derive(Debug, Default)]
pub(super) struct StopSignal(watch::Sender<Option<Stop>>);

impl StopSignal {
    pub(super) fn raise(&self, stop: Stop) {
        self.0.send_if_modified(|now| {
            let stronger = now.is_none_or(|now| now < stop);
            if stronger {
                *now = Some(stop);
            }
            stronger
        });
    }

    pub(super) fn now(&self) -> Option<Stop> {
        *self.0.borrow()
    }

    /// Waits for a signal of at least this strength. Each poll reads the signal, not only the wake-up, so that a handler
    /// that is polled one last time sees it.
    pub(super) async fn wait_for(&self, least: Stop) -> Stop {
        let mut receiver = self.0.subscribe();
        let mut woken = pin!(receiver.wait_for(|now| now.is_some_and(|now| now >= least)));
        poll_fn(|context| match self.now() {
            Some(now) if now >= least => Poll::Ready(now),
            _ => woken.as_mut().poll(context).map(|seen| {
                let seen = seen.ok().and_then(|now| *now);
                seen.expect("the sender outlives this call and `wait_for` has seen a signal")
            }),
        })
        .await
    }
}
