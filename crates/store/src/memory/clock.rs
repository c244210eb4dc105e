//! The clock of the memory store, which tests may control.

use crate::prelude::*;
use crate::wall;

#[derive(Debug, Default)]
pub(super) enum Clock {
    #[default]
    Wall,
    Manual(Timestamp),
    /// Tokio's clock, which tests and the simulator pause: time then passes only while all tasks wait.
    Tokio(Timestamp, tokio::time::Instant),
}

/// A clock that never runs backwards, and the total of all outages.
#[derive(Debug, Default)]
pub(super) struct MemoryClock {
    clock: Clock,
    last: Now,
}

impl MemoryClock {
    pub(super) fn on(clock: Clock) -> Self {
        Self { clock, last: Now::default() }
    }

    pub(super) fn now(&mut self) -> Now {
        let read = match self.clock {
            Clock::Manual(at) => at,
            Clock::Wall => wall(),
            Clock::Tokio(base, since) => base + Millis(since.elapsed().as_millis() as u64),
        };
        self.last.at = self.last.at.max(read);
        self.last
    }

    pub(super) fn set(&mut self, at: Timestamp) {
        self.clock = match self.clock {
            Clock::Wall | Clock::Manual(_) => Clock::Manual(at),
            Clock::Tokio(..) => Clock::Tokio(at, tokio::time::Instant::now()),
        };
    }

    pub(super) fn add_outage(&mut self, span: Millis) {
        self.last.stopped.0 += span.0;
    }
}
