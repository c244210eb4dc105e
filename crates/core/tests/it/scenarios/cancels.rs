//! Cancels: immediate, soft with a grace period, and hard.

use super::check;

#[test]
fn a_job_without_a_lease_is_cancelled_immediately() {
    check(
        "type work follows distributed
         0     ann create work a
         1     ann cancel a why=enough  => cancelled, completed 1, error none, worker none
         1     -   causes a             => - > enough
         2     ann cancel a             => invalid_transition cancel from cancelled, allowed nothing",
    );
}

#[test]
fn a_worker_may_confirm_a_soft_cancel() {
    check(
        r#"type work follows distributed
         0     ann create work a
         0     w1  claim start
         5     w1  cancel-confirm a     => invalid_transition cancel from running
         10    ann cancel a             => running, cancel soft, hard 40
         15    ann cancel a             => running, hard 40
         20    w1  heartbeat a          => cancel soft
         30    w1  cancel-confirm a checkpoint={"at":7} result=1 => cancelled, checkpoint {"at":7}, result 1, no cancel
         31    w1  cancel-confirm a     => cancelled, replayed
         31    w1  succeed a            => lease_conflict lost
         31    -   actors a             => ann > worker:w1 > worker:w1 > worker:w1"#,
    );
}

#[test]
fn a_result_before_the_confirmation_wins() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim start
         10    ann cancel a
         20    w1  succeed a            => succeeded, no cancel
         60    ann sweep a
         60    -   see a                => succeeded",
    );
}

#[test]
fn a_cancel_becomes_hard_after_its_grace_period() {
    check(
        "type work follows distributed cancel_grace=10s
         0     ann create work a
         0     w1  claim start
         10    ann cancel a             => hard 20
         19    w1  heartbeat a          => cancel soft
         21    w1  cancel-confirm a     => lease_conflict revoked
         21    -   see a                => cancelled, error CANCEL_GRACE_EXPIRED, completed 20
         21    -   actors a             => ann > worker:w1 > worker:w1 > clock",
    );
}

#[test]
fn a_cancelled_job_is_not_retried() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann create work b
         0     ann create work c
         0     w1  claim start max=3
         1     ann cancel a
         1     ann cancel b
         1     ann cancel c
         2     w1  release a            => cancelled, attempt 2
         2     -   history a            => job_queued@0 > job_claimed@0 > job_started@0 > job_released@2 > job_cancelled@2
         2     w1  release a            => replayed, cancelled
         2     w1  fail b               => cancelled, error BROKEN
         3     w1  fail c class=permanent => failed
         4     w2  claim                => none",
    );
}

#[test]
fn an_expired_lease_completes_a_pending_cancel() {
    check(
        "type work follows distributed cancel_grace=1h
         0     ann create work a
         0     w1  claim
         1     ann cancel a
         40    ann sweep a
         40    -   see a                => cancelled, completed 30
         40    -   history a            => job_queued@0 > job_claimed@0 > job_requeued@30 > job_cancelled@30",
    );
}

#[test]
fn a_cancel_without_a_rule_lapses_after_its_grace_period() {
    check(
        "type work follows odd cancel_grace=10s lease=1h heartbeat=1h
         0     ann create work a
         0     w1  claim                => a held
         0     ann cancel a             => invalid_transition cancel from held
         0     w1  start a
         1     ann cancel a             => working, cancel soft, hard 11
         2     ann signal a polish      => finishing, cancel soft
         3     w1  cancel-confirm a     => invalid_transition cancel from finishing
         12    w1  heartbeat a          => no cancel
         13    w1  succeed a            => done",
    );
}

#[test]
fn a_hard_cancel_does_not_wait_for_the_worker() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim start
         1     ann cancel a
         2     ann cancel a hard why=now => cancelled, completed 2, no cancel
         3     w1  succeed a            => lease_conflict revoked
         3     w1  cancel-confirm a     => lease_conflict revoked
         3     -   causes a             => - > - > - > now",
    );
}

#[test]
fn a_lifecycle_without_a_cancel_rule_refuses_it() {
    check(
        "type strict follows engine
         0     ann create strict a
         0     ann cancel a             => invalid_transition cancel from queued, allowed claim timeout
         0     w1  claim
         0     ann cancel a hard        => invalid_transition cancel from dispatched
         0     w1  cancel-confirm a     => invalid_transition cancel from dispatched",
    );
}
