//! Claims in a store that was restored from a backup: no fence is granted a second time.

use crate::make::{OneJob, a_claim, a_job, envelope, job_id};
use crate::prelude::*;

fn distributed() -> Lifecycle {
    Lifecycle::built_in().into_iter().find(|it| it.name.as_str() == "distributed").expect("it is built in")
}

/// Goes back to a backup, one minute after its time.
fn restore(backup: &OneJob) -> OneJob {
    let mut restored = backup.clone();
    restored.world.outage(Millis::seconds(60));
    restored.world.tables.restored_at = restored.world.now.at;
    restored
}

#[test]
fn a_fence_that_was_granted_after_the_backup_is_not_granted_again() {
    let backup = OneJob::create(&distributed(), 3);
    let mut lost = backup.clone();
    assert!(lost.claim());
    let mut restored = restore(&backup);
    assert!(restored.claim());
    assert!(restored.job().fence > lost.job().fence, "the same worker has both leases");
    let refused = restored.submit(lost.command(&Trigger::Start, Class::Transient).expect("a report"));
    assert!(matches!(refused, Err(Refusal::LeaseConflict { .. })), "{refused:?}");
    restored
        .submit(restored.command(&Trigger::Start, Class::Transient).expect("a report"))
        .expect("it is live");
}

#[test]
fn a_second_restore_of_the_same_backup_grants_other_fences() {
    let backup = OneJob::create(&distributed(), 3);
    let mut first = restore(&backup);
    assert!(first.claim());
    let mut second = restore(&backup);
    second.world.outage(Millis::seconds(60));
    second.world.tables.restored_at = second.world.now.at;
    assert!(second.claim());
    assert!(second.job().fence > first.job().fence);
}

#[test]
fn a_lease_of_the_backup_stays_valid_and_later_jobs_have_small_fences() {
    let mut backup = OneJob::create(&distributed(), 3);
    assert!(backup.claim());
    let mut restored = restore(&backup);
    restored
        .submit(backup.command(&Trigger::Start, Class::Transient).expect("a report"))
        .expect("it is live");
    restored.world.wait(Millis(1));
    restored.submit(Command::Create(Box::new(a_job(2, "work")))).expect("the creation is valid");
    restored.world.submit(&envelope("w2", Command::Claim(a_claim("w2")))).expect("a claim is never refused");
    assert_eq!(restored.world.tables.jobs[&job_id(2)].fence, Fence(1));
}
