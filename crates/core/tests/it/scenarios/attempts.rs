//! An attempt is counted once, and attempts run out whatever begins the next one.

use crate::make::OneJob;
use crate::prelude::*;

/// What fails cools down until a timeout; what is done in part rests, and is due at once.
const SLOW: &str = r#"
name = "slow"
version = 1
about = "Waits before the next attempt."
initial = "queued"

[states]
queued = { role = "ready" }
running = { role = "active" }
cooling = { role = "waiting", timeout = "1m" }
resting = { role = "waiting" }
done = { outcome = "succeeded" }
failed = { outcome = "failed" }

[[transitions]]
on = "create"
to = "queued"

[[transitions]]
on = "claim"
from = "queued"
to = "running"

[[transitions]]
on = "succeed"
from = "running"
to = "done"

[[transitions]]
on = ["fail", "lease_expired"]
from = "running"
to = "cooling"

[[transitions]]
on = "timeout"
from = "cooling"
when = "retry"
to = "queued"

[[transitions]]
on = "timeout"
from = "cooling"
to = "failed"

[[transitions]]
on = "partial"
from = "running"
to = "resting"

[[transitions]]
on = "due"
from = "resting"
when = "retry"
to = "queued"

[[transitions]]
on = "due"
from = "resting"
to = "failed"
"#;

fn slow(max_attempts: u32) -> OneJob {
    OneJob::create(&Lifecycle::parse(SLOW).expect("it is valid"), max_attempts)
}

/// Claims the job and reports a verb.
fn attempt(run: &mut OneJob, verb: &Trigger) {
    assert!(run.claim());
    let report = run.command(verb, Class::Transient).expect("workers report it");
    run.submit(report).expect("a rule allows it");
}

fn see(run: &OneJob) -> (String, u32) {
    (run.job().state.to_string(), run.job().retry_count)
}

#[test]
fn the_timeout_of_a_wait_after_a_failure_counts_no_second_one() {
    let mut run = slow(3);
    for (failed, after) in [(1, "queued"), (2, "queued"), (3, "failed")] {
        attempt(&mut run, &Trigger::Fail);
        assert_eq!(see(&run), ("cooling".to_owned(), failed));
        run.time_out();
        assert_eq!(see(&run), (after.to_owned(), failed));
    }
}

#[test]
fn the_next_attempt_costs_one_without_a_failure_too() {
    let mut run = slow(3);
    attempt(&mut run, &Trigger::Fail);
    run.time_out();
    assert_eq!(see(&run), ("queued".to_owned(), 1));
    // The error of the first attempt is still there, and transient.
    for after in [("queued", 2), ("failed", 2)] {
        attempt(&mut run, &Trigger::Partial);
        run.become_due();
        assert_eq!(see(&run), (after.0.to_owned(), after.1));
    }
}
