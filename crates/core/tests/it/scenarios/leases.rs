//! Leases: one holder at a time (law 4), and reports that may be repeated (law 7).

use super::check;

#[test]
fn a_worker_that_lost_its_lease_cannot_finish_the_job() {
    check(
        "type work follows distributed
         0     ann create work a  => queued, fence 0, worker none
         0     w1  claim          => a assigned, fence 1, expires 30, worker w1
         1     w1  start a        => running
         31    w1  succeed a      => lease_conflict lost
         31    -   see a          => queued, attempt 2, retry_count 1, error HEARTBEAT_LOST, run_at 31.5, worker none
         32    w2  claim start    => a running, fence 2
         33    w1  succeed a      => lease_conflict superseded
         33    w1  heartbeat a    => lease_conflict superseded
         33    w1  progress a 50  => lease_conflict superseded
         33    w1  log a hello    => lease_conflict superseded
         34    w2  succeed a      => succeeded, worker w2, error none, completed 34
         35    w1  succeed a      => lease_conflict superseded",
    );
}

#[test]
fn the_same_worker_cannot_finish_under_its_old_lease_what_it_holds_under_a_new_one() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim start          => fence 1
         60    w1  claim start          => a running, fence 2, attempt 2
         61    w1  succeed a fence=1    => lease_conflict superseded
         61    -   see a                => running, fence 2
         62    w1  succeed a fence=2    => succeeded",
    );
}

#[test]
fn a_refusal_says_how_the_lease_ended() {
    check(
        "type work follows distributed
         0     ann create work a
         1     w1  succeed a fence=none => invalid_transition succeed from queued, allowed claim cancel dead_letter
         1     w1  succeed a fence=7    => invalid_transition
         1     w1  heartbeat a fence=7  => lease_conflict lost
         2     w1  claim start          => fence 1
         3     w2  succeed a fence=1    => lease_conflict wrong_worker
         3     w2  succeed a fence=7    => lease_conflict wrong_worker
         3     w2  succeed a fence=none => lease_conflict wrong_worker
         3     w2  start a fence=7      => invalid_transition start from running
         3     w2  start a fence=1      => lease_conflict wrong_worker
         3     w1  start a              => invalid_transition start from running
         4     w1  release a            => queued, attempt 2
         5     w1  succeed a            => lease_conflict lost
         6     w1  claim start          => fence 2
         7     w1  succeed a fence=1    => lease_conflict superseded
         8     ann cancel a hard        => cancelled
         9     w1  succeed a fence=1    => lease_conflict superseded
         9     w1  succeed a fence=2    => lease_conflict revoked
         9     w1  succeed a fence=3    => invalid_transition succeed from cancelled
         9     w1  heartbeat a fence=2  => lease_conflict revoked",
    );
}

#[test]
fn a_transition_by_others_revokes_the_lease() {
    check(
        "type work   follows distributed
         type strict follows engine heartbeat=20s
         0     ann create work a
         0     ann create strict b
         0     w1  claim max=2 start    => a running, b running
         1     ann dead-letter a policy_violation => dead_lettered
         2     w1  succeed a            => lease_conflict revoked
         25    w1  heartbeat b          => lease until 55
         50    w1  heartbeat b
         61    w1  succeed b            => lease_conflict revoked
         61    -   see b                => failed, error RUN_TIMEOUT, category Engine, completed 60",
    );
}

#[test]
fn a_holder_may_repeat_the_report_that_ended_its_lease() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim start
         1     w1  fail a               => queued, not replayed, retry_count 1, run_at 1.5
         2     w1  fail a               => queued, replayed, retry_count 1, seq 4
         2     w1  succeed a            => lease_conflict lost
         2     w2  fail a fence=1       => lease_conflict lost
         3     w2  claim start          => a running, fence 2
         4     w1  fail a               => running, replayed, fence 2
         4     w1  succeed a            => lease_conflict superseded
         5     w2  succeed a            => succeeded
         6     w2  succeed a            => succeeded, replayed
         6     w1  fail a               => lease_conflict superseded",
    );
}

#[test]
fn a_worker_with_an_expired_lease_cannot_repeat_a_report() {
    check(
        "type work follows so1
         0     ann create work a
         0     w1  claim                => a running
         31    w1  fail a               => lease_conflict lost
         31    -   see a                => failed, error HEARTBEAT_LOST, category System, completed 30",
    );
}

#[test]
fn a_heartbeat_renews_when_half_of_the_lease_or_less_remains() {
    check(
        "type work follows distributed lease=60s heartbeat=40s
         0     ann create work a
         0     w1  claim                => lease until 60, expires 60
         29.9  w1  heartbeat a          => lease until 60, expires 60, no cancel
         30    w1  heartbeat a          => lease until 90, expires 90
         59.9  w1  start a              => running, lease until 90
         60    w1  progress a 10        => lease until 120
         89    w1  log a hello          => 1 lines
         91    w1  log a hello          => 2 lines
         91    -   see a                => lease until 151
         91    -   telemetry a => heartbeat@29.9 > renewed@30 > renewed@60 > progress 10@60 > renewed@91",
    );
}

#[test]
fn a_refused_report_is_not_a_heartbeat() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim                => expires 30
         20    w1  succeed a            => invalid_transition succeed from assigned
         20    w2  heartbeat a fence=1  => lease_conflict wrong_worker
         20    -   see a                => expires 30
         20    w1  progress a 5         => ignored, expires 50
         49    w1  start a              => running, expires 79",
    );
}

#[test]
fn two_missed_heartbeats_end_the_lease_early() {
    check(
        "type slow  follows distributed lease=60s heartbeat=15s
         type quick follows distributed lease=20s heartbeat=15s
         type even  follows distributed lease=30s heartbeat=15s
         0     ann create slow a
         0     ann create quick b
         0     ann create even c
         0     w1  claim max=3          => a > b > c
         40    ann sweep a
         40    ann sweep b
         40    ann sweep c
         40    -   see a                => queued, error HEARTBEAT_LOST, category System, class Transient, run_at 30.5
         40    -   see b                => queued, error LEASE_EXPIRED, category System, class Transient, run_at 20.5
         40    -   see c                => queued, error LEASE_EXPIRED",
    );
}

#[test]
fn a_lost_connection_ends_the_lease_if_the_lifecycle_says_so() {
    check(
        "type strict follows engine
         type work   follows distributed
         0     ann create strict a
         0     ann create work b
         0     w1  claim max=2
         1     w2  disconnect a fence=1 => lease_conflict wrong_worker
         1     w1  disconnect a         => failed, error WORKER_DISCONNECTED, category Queue, worker w1
         1     w1  disconnect b         => assigned, expires 30
         2     w1  start a              => lease_conflict lost
         2     w1  start b              => running",
    );
}
