//! Clocks: time is a trigger like any other (law 9), and an outage stops the clocks.

use super::check;

#[test]
fn a_timeout_in_the_queue_precedes_a_late_claim() {
    check(
        "type strict follows engine
         0     ann create strict a      => timeout 30
         29.9  -   see a                => queued
         35    w1  claim                => none
         35    -   see a                => failed, error QUEUE_TIMEOUT, category Queue, class Transient, completed 30
         35    -   history a            => JOB_QUEUED@0 > JOB_FAILED@30
         35    -   actors a             => ann > clock
         35    -   causes a             => - > QUEUE_TIMEOUT",
    );
}

#[test]
fn a_timeout_error_names_its_state() {
    check(
        "type strict follows engine lease=1h heartbeat=1h
         type draft  follows review lease=1h heartbeat=1h
         0     ann create strict a
         0     ann create strict b
         0     ann create draft c
         0     w1  claim types=strict
         1     w1  claim types=strict start
         1     w1  claim types=draft
         2     w1  succeed c            => in_review, timeout 259202
         99    w1  start a              => lease_conflict revoked
         99    -   see a                => failed, error DISPATCH_TIMEOUT, category System, completed 10
         99    w1  succeed b            => lease_conflict revoked
         99    -   see b                => failed, error RUN_TIMEOUT, category Engine, completed 61
         259300 ann signal c approve    => invalid_transition signal:approve from failed
         259300 -  see c                => failed, error WAIT_TIMEOUT, category Queue, completed 259202",
    );
}

#[test]
fn overdue_clocks_fire_in_order_each_at_its_own_time() {
    check(
        "type draft follows review max_attempts=5
         0     ann create draft a       => timeout 3600
         0     w1  claim                => a drafting, timeout 600, expires 30
         9999  ann sweep a
         9999  -   see a                => failed, error QUEUE_TIMEOUT, retry_count 2, attempt 2
         9999  -   history a            => job_queued@0 > drafting_started@0 > job_queued@30 > job_failed@3630",
    );
}

#[test]
fn a_lease_and_a_timeout_fire_in_order() {
    check(
        "type a follows engine lease=1h heartbeat=5s
         type b follows engine lease=1h heartbeat=4s
         0     ann create a a
         0     ann create b b
         0     w1  claim max=2
         20    ann sweep a
         20    ann sweep b
         20    -   see a                => failed, error HEARTBEAT_LOST, completed 10
         20    -   see b                => failed, error HEARTBEAT_LOST, completed 8",
    );
}

#[test]
fn an_outage_shifts_leases_timeouts_grace_and_due_times_but_not_run_at() {
    check(
        "type work   follows distributed
         type strict follows engine lease=1h heartbeat=1h
         type image  follows image base=20s
         0     ann create work held
         0     ann create work told
         0     ann create strict timed
         0     ann create image waiting
         0     w1  claim max=4 start
         0     ann create work later delay=60s => run_at 60
         10    ann cancel told          => hard 40
         10    w1  fail waiting         => failed, due 30
         110   outage 100s
         110   -   see held             => expires 130
         110   -   see told             => hard 140, expires 130
         110   -   see timed            => timeout 160
         110   -   see waiting          => due 130
         110   -   see later            => run_at 60
         111   w2  claim types=work     => later
         112   w1  heartbeat told       => expires 142
         112   w1  heartbeat held       => expires 142
         129   ann sweep waiting
         129   -   see waiting          => failed
         131   ann sweep waiting
         131   -   see waiting          => queued, run_at 130
         141   w1  succeed told         => lease_conflict revoked
         141   -   see told             => cancelled, completed 140
         143   w1  succeed held         => lease_conflict lost
         143   -   see held             => queued, error HEARTBEAT_LOST
         161   w1  succeed timed        => lease_conflict revoked
         161   -   see timed            => failed, error RUN_TIMEOUT, completed 160",
    );
}

#[test]
fn deadlines_before_an_outage_fire_before_it() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim
         140   outage 100s
         140   w1  start a              => lease_conflict lost
         140   -   history a            => job_queued@0 > job_claimed@0 > job_requeued@30",
    );
}

#[test]
fn a_repeated_claim_shows_expired_leases() {
    check(
        "type strict follows engine
         0     ann create strict a
         0     w1  claim request=r      => a dispatched
         9     w1  claim request=r      => a dispatched, replayed
         12    w1  claim request=r      => none, replayed
         12    -   see a                => failed",
    );
}

#[test]
fn a_repeated_retry_shows_the_current_job() {
    check(
        "type strict follows engine
         0     ann create strict a
         0     w1  claim start
         1     w1  fail a               => failed
         2     ann retry a as=b key=k   => b, queued
         40    ann retry a as=b key=k   => b, failed, replayed, completed 32",
    );
}

#[test]
fn a_timeout_of_the_catch_all_applies_to_its_own_lifecycle_only() {
    check(
        "type * follows engine timeout.queued=5s
         0     ann create thing a       => timeout 5
         0     ann create thing b lifecycle=distributed => timeout never
         99    ann sweep b
         99    -   see b                => queued",
    );
}
