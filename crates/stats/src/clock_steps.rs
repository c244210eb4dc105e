//! Steps of the store's clock while this process runs: the machine was suspended or frozen, or its clock was set forward.

use tenure_core::time::Now;

use crate::prelude::*;

/// Shorter steps are not reported.
const STEP_MIN: Millis = Millis::seconds(10);

/// The last reading, and the last step.
#[derive(Default)]
pub(super) struct ClockSteps {
    stopped: Option<Millis>,
    last: Option<ClockStep>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockStep {
    /// When it was noticed.
    pub(super) at: Timestamp,
    pub(super) by: Millis,
}

impl ClockSteps {
    /// Compares a reading with the one before. What was stopped before the first reading is no step: the server did not run.
    pub(super) fn read(&mut self, now: Now) -> Option<ClockStep> {
        let before = self.stopped.replace(now.stopped).unwrap_or(now.stopped);
        let by = Millis(now.stopped.0.saturating_sub(before.0));
        if by >= STEP_MIN {
            self.last = Some(ClockStep { at: now.at, by });
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_growth_of_the_stopped_time() {
        let mut steps = ClockSteps::default();
        let mut read = |at, stopped| steps.read(Now { at: Timestamp(at), stopped: Millis(stopped) });
        assert_eq!(read(1000, 60_000), None, "before the process started");
        assert_eq!(read(2000, 69_999), None, "short");
        let step = ClockStep { at: Timestamp(30_000), by: Millis(20_001) };
        assert_eq!(read(30_000, 90_000), Some(step));
        assert_eq!(read(31_000, 90_000), Some(step), "it stays");
    }
}
