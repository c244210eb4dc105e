//! Claims: which job a worker gets, and in which order.

use super::check;

#[test]
fn claims_take_priority_then_run_at_then_creation() {
    check(
        "type work follows distributed
         0     ann create work late  delay=5s
         0     ann create work first
         0     ann create work second
         0     ann create work vip   priority=1 delay=6s
         0     ann create work low   priority=-1
         0     ann create work never delay=1h
         7     w1  claim max=9          => vip > first > second > late > low",
    );
}

#[test]
fn a_claim_respects_its_maximum_and_its_filter() {
    check(
        "type work follows distributed
         type run follows distributed queue=games
         0     ann create work a
         0     ann create run b
         0     ann create work c
         0     ann create work d queue=games
         0     w1  claim max=0          => validation_failed
         0     w1  claim max=1001       => validation_failed
         0     w1  claim max=2          => a > b
         0     w1  claim queues=games types=run => none
         0     w1  claim queues=games   => d
         0     w1  claim types=run+work => c
         0     w1  claim                => none",
    );
}

#[test]
fn a_claim_with_start_makes_both_transitions_if_there_are_two() {
    check(
        "type work follows distributed
         type run follows so1
         0     ann create work a
         0     ann create run b
         0     w1  claim max=2 start    => a running, b running
         0     -   history a            => job_queued@0 > job_claimed@0 > job_started@0
         0     -   history b            => created@0 > started@0",
    );
}

#[test]
fn a_repeated_claim_request_returns_the_jobs_that_are_still_held() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann create work b
         0     ann create work c
         0     w1  claim max=2 request=r        => a > b
         1     w1  claim max=9 start request=r  => a > b, a assigned, replayed
         1     w2  claim request=r              => c
         2     w1  start a
         3     w1  release b
         4     w1  claim max=2 request=r        => a running, a, replayed
         40    w1  claim max=2 request=r        => none, replayed
         40    w1  claim max=9 request=s        => b > c > a, fence 2",
    );
}

#[test]
fn a_claim_request_without_a_job_may_be_repeated() {
    check(
        "type work follows distributed
         0     w1  claim request=r      => none
         1     ann create work a
         2     w1  claim request=r      => a",
    );
}

#[test]
fn a_claim_accepts_an_idempotency_key() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann create work b
         0     w1  claim key=k          => a
         1     w1  claim key=k          => a, replayed
         1     w1  claim key=k body=other => idempotency_mismatch
         2     w1  claim request=k      => b
         3     w1  claim request=k key=x => b, replayed
         3     w1  claim request=k key=y body=other => b, replayed",
    );
}

#[test]
fn nothing_is_claimed_from_a_paused_queue() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann create work b queue=other
         0     ann pause default
         0     ann pause default
         0     w1  claim max=2          => b
         1     ann resume default
         1     w1  claim max=2          => a
         1     -   audit                => pause by ann > resume by ann",
    );
}
