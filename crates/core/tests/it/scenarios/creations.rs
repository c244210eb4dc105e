//! Creations: types, keys, credits, and compensations.

use super::check;

#[test]
fn an_unknown_type_is_refused() {
    check(
        "type work follows distributed payload_bytes_max=4
         0     ann create else a        => unknown_type
         0     ann create work a payload=12345 => too_large
         0     ann create work a lifecycle=so1 => validation_failed
         0     ann create work a max_attempts=0 => validation_failed
         0     ann create work a priority=1000001 => validation_failed
         0     ann create work a payload=1234 lifecycle=distributed => queued",
    );
}

#[test]
fn a_caller_of_the_catch_all_may_choose_a_lifecycle() {
    check(
        "type * follows distributed
         0     ann create anything a    => type anything, lifecycle distributed, queued, max_attempts 5
         0     ann create anything b lifecycle=so1    => lifecycle so1, pending, max_attempts 1
         0     ann create anything c lifecycle=engine => lifecycle engine, queued, timeout 30, max_attempts 1
         0     ann create anything d lifecycle=none   => validation_failed
         0     w1  claim max=3          => a > b > c
         0     -   see a                => expires 30, lease until 60
         0     -   see c                => expires 20, lease until 30",
    );
}

#[test]
fn a_type_may_override_each_policy_of_its_lifecycle() {
    check(
        "type work   follows distributed max_attempts=1 lease=20s heartbeat=50s cancel_grace=5s queue=fast priority=3
         type strict follows engine timeout.queued=5s timeout.running=1h
         0     ann create work a        => queue fast, priority 3, max_attempts 1
         0     ann create work b queue=slow priority=9 max_attempts=4 => queue slow, priority 9, max_attempts 4
         0     ann create strict c      => timeout 5
         0     w1  claim queues=fast start => a running, expires 20
         1     ann cancel a             => hard 6
         2     w1  claim types=strict start => c running, timeout 3602",
    );
}

#[test]
fn a_given_key_finds_the_job_it_created() {
    check(
        "type work follows distributed
         0     ann create work a key=k  => a, not replayed
         1     ann create work b key=k  => a, replayed, seq 1
         1     ann create work b key=k body=other => idempotency_mismatch
         2     ann create work b key=k user=u2 => b, not replayed
         86399 ann create work c key=k  => a, replayed
         86400 ann create work c key=k body=other => c, not replayed",
    );
}

#[test]
fn keys_of_different_types_are_separate() {
    check(
        "type work follows distributed
         type run follows distributed
         0     ann create work a key=k  => a
         0     ann create run b key=k  => b, not replayed
         0     ann create run c derived=k => c, not replayed",
    );
}

#[test]
fn a_derived_key_covers_the_previous_minute() {
    check(
        "type image follows image
         50    ann create image a derived=cat  => a
         59.9  ann create image b derived=cat  => a, replayed
         60    ann create image b derived=cat  => a, replayed
         60    ann create image b derived=dog  => b, not replayed
         109.9 ann create image c derived=cat  => a, replayed
         110   ann create image c derived=cat  => c, not replayed
         119   ann create image d derived=cat  => c, replayed",
    );
}

#[test]
fn a_derived_key_without_the_minute_lasts_as_long_as_a_given_one() {
    check(
        "type work follows distributed
         0     ann create work a derived=cat timeless => a
         86399 ann create work b derived=cat timeless => a, replayed
         86400 ann create work b derived=cat timeless => b, not replayed",
    );
}

#[test]
fn a_job_in_a_reusable_state_frees_its_key() {
    check(
        "type image follows image max_attempts=2
         0     ann create image a key=k
         0     w1  claim
         1     w1  fail a retry_after=10s     => failed
         2     ann create image b key=k       => b, not replayed
         3     ann create image c key=k       => b, replayed
         3     w1  claim                      => b running
         4     w1  succeed b                  => completed
         5     ann create image c key=k       => b, replayed",
    );
}

#[test]
fn due_clocks_fire_before_a_creation_checks_its_key() {
    check(
        "type image follows image max_attempts=2
         0     ann create image a key=k
         0     w1  claim
         1     w1  fail a                     => failed, due 1.5
         2     ann create image b key=k       => a, queued, replayed",
    );
}

#[test]
fn credits_are_reserved_and_settled_or_refunded_once() {
    check(
        "type image follows image cost=4 max_attempts=1
         0     ann create image a       => insufficient_credits, 4 of 0
         0     ann create image a user=none => insufficient_credits
         0     ann grant u1 10          => granted 10, available 10
         0     ann grant u1 0           => validation_failed
         1     ann create image a       => queued
         1     ann create image b       => queued
         1     ann create image c       => insufficient_credits, 4 of 2
         1     -   account u1           => reserved 8, spent 0, available 2
         2     w1  claim max=2
         3     w1  succeed a            => completed
         3     w1  succeed a            => replayed
         3     -   account u1           => reserved 4, spent 4, available 2
         4     w1  fail b               => dead_letter
         4     -   account u1           => reserved 0, spent 4, available 6
         4     -   ledger u1            => grant 10 > reserve 4 > reserve 4 > settle 4 > refund 4
         5     ann retry b as=c         => queued
         5     -   account u1           => reserved 4, available 2
         5     ann retry b as=d         => insufficient_credits, 4 of 2
         6     ann reject c             => rejected
         6     -   account u1           => reserved 0, spent 8, available 2",
    );
}

#[test]
fn a_repeated_creation_is_charged_once() {
    check(
        "type image follows image cost=4
         0     ann grant u1 10 key=g
         0     ann grant u1 10 key=g    => granted 10
         0     ann create image a key=k
         0     ann create image b key=k => a, replayed
         0     -   account u1           => reserved 4, available 6",
    );
}

#[test]
fn a_catch_all_job_is_refunded_if_its_lifecycle_has_no_credits() {
    check(
        "type * follows image cost=4
         0     ann grant u1 4
         0     ann create thing a lifecycle=so1
         0     w1  claim
         1     w1  succeed a            => success
         1     -   account u1           => reserved 0, spent 0, available 4",
    );
}

#[test]
fn a_failed_job_is_compensated() {
    check(
        "type work follows distributed compensate_with=undo max_attempts=1
         type undo follows distributed max_attempts=1
         0     ann create work a
         0     w1  claim start
         1     w1  fail a               => dead_lettered
         1     -   compensation a as=b  => queued, type undo, compensates a
         2     w2  claim start          => b running
         3     w2  succeed b            => succeeded
         3     -   history a => job_queued@0 > job_claimed@0 > job_started@0 > job_dead_lettered@1 > job_compensated@3
         3     -   see a                => seq 4
         3     -   letter b             => none",
    );
}

#[test]
fn a_failed_compensation_writes_a_dead_letter_in_any_lifecycle() {
    check(
        "type work follows distributed compensate_with=undo
         type undo follows pattern
         0     ann create work a
         0     ann create work b
         0     w1  claim start max=2
         1     w1  fail a class=permanent => failed
         1     ann cancel b hard          => cancelled
         1     -   compensation a as=c
         1     -   compensation b as=d
         2     w2  claim max=2            => c processing, d processing
         3     w2  fail c                 => failed
         3     w2  partial d              => partial
         3     -   letter c               => compensation_failed
         3     -   letter d               => compensation_failed
         3     -   history a => job_queued@0 > job_claimed@0 > job_started@0 > job_failed@1",
    );
}

#[test]
fn a_job_that_never_ran_is_not_compensated() {
    check(
        "type work follows distributed compensate_with=undo
         type undo follows pattern
         0     ann create work a
         0     ann create work b
         0     w1  claim
         1     ann cancel a hard        => cancelled
         1     ann cancel b             => cancelled
         1     -   compensation a as=c  => none
         1     -   compensation b as=d  => none",
    );
}
