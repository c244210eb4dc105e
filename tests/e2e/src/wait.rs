//! Waiting for conditions, with one deadline for all tests.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, timeout};

use crate::DEADLINE;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until a condition holds.
pub async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    in_time(what, async {
        while !condition().await {
            ticks.tick().await;
        }
    })
    .await;
}

/// Waits for a future, up to the deadline.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("did not happen in {DEADLINE:?}: {what}"))
}
