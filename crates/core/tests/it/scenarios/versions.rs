//! A job keeps the lifecycle version it was created under, even if its type has a newer one.

use tenure_core::lifecycle::BUILT_IN;

use crate::make::{OneJob, a_type, job_id};
use crate::prelude::*;

/// `so1` with a timeout, which its first version does not have.
fn second_version() -> Lifecycle {
    let first = BUILT_IN.iter().find(|source| source.contains("name    = \"so1\"")).expect("it is built in");
    let timeout =
        "[[transitions]]\non = \"timeout\"\nfrom = [\"pending\", \"running\"]\nto = \"failed\"\n\n[api]";
    let second = first.replace("version = 1", "version = 2").replacen("[api]", timeout, 1);
    Lifecycle::parse(&second).expect("the second version is valid")
}

#[test]
fn a_live_job_keeps_the_version_it_was_created_under() {
    let second = second_version();
    let first = Lifecycle::built_in().into_iter().find(|each| each.name == "so1").expect("it is built in");
    let mut run = OneJob::create(&first, 1);
    let mut job_type = a_type("work", &second);
    job_type.timeouts = vec![("running".into(), Millis::seconds(1))];
    run.world.catalog.add_lifecycle(second);
    run.world.catalog.add_type(job_type).expect("its lifecycle is known");

    assert!(run.claim());
    assert_eq!(run.job().spec.lifecycle.version, 1);
    assert_eq!(run.job().clocks.timeout, None, "the first version has no rule for a timeout");
    let job = run.id;
    let cancel = Command::Cancel(Cancel { job, mode: CancelMode::Hard, reason: None });
    run.submit(cancel).expect("both versions can be cancelled");

    let again = run.submit(Command::Retry(Retry { job, id: job_id(2), when: When::Now }));
    let Ok(CommandOutput::Job { job, .. }) = again else {
        panic!("a finished job can be retried: {again:?}")
    };
    assert_eq!(job.spec.lifecycle.version, 2, "a new job follows the newest version");
}
