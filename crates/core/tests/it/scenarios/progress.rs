//! Progress moves `updated_at`, without an event.

use crate::make::OneJob;
use crate::prelude::*;

#[test]
fn progress_moves_updated_at_while_the_job_is_active() {
    let lifecycle =
        Lifecycle::built_in().into_iter().find(|each| each.name == "pattern").expect("it is built in");
    let mut run = OneJob::create(&lifecycle, 1);
    assert!(run.claim());
    let claimed_at = run.job().times.updated_at;
    run.advance();
    run.advance();
    let progress = Command::Progress { hold: run.hold(), percent: 40.0, message: None };
    run.submit(progress).expect("the worker holds it");
    assert_eq!(run.job().times.updated_at, claimed_at + Millis(2));
    let hold = run.hold();
    let succeed = run.command(&Trigger::Succeed, Class::Transient).expect("workers report it");
    run.submit(succeed).expect("the worker holds it");
    let ended_at = run.job().times.updated_at;
    run.advance();
    let late = Command::Progress { hold, percent: 50.0, message: None };
    run.submit(late).expect("it is ignored");
    assert_eq!(run.job().times.updated_at, ended_at, "outside an active state it does not count");
}
