//! The signal that tells a handler to stop, and why.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;

/// Why a handler should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// Someone wants the job cancelled: save where it is and return `Fail::cancelled()`, or finish, and that stands.
    SoftCancel,
    /// The worker is going away and its drain time is over: return `Fail::release()`, or be dropped and released.
    Shutdown,
    /// The job is cancelled already. The handler is dropped at its next `await`.
    HardCancel,
    /// The lease is no longer this worker's: someone else may hold the job. The handler is dropped at its next `await`.
    LeaseLost,
}

impl Stop {
    /// Whether the job is out of this worker's hands, whatever its handler says.
    pub fn is_over(self) -> bool {
        matches!(self, Self::HardCancel | Self::LeaseLost)
    }
}

/// The sending side: a signal is raised, may become stronger, and is never taken back.
#[derive(Debug)]
pub(super) struct Alarm(watch::Sender<Option<Stop>>);

impl Default for Alarm {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Alarm {
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

    /// Waits until it is raised at least as strong as this. Each poll looks at the signal itself, not only at whether
    /// it was woken: a handler that is polled one last time has to see what it is polled for.
    pub(super) async fn raised(&self, least: Stop) -> Stop {
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
