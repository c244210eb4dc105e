//! Attempts: which failures use one up, the delay before the next, and the dead letter when none is left.

use super::check;

#[test]
fn a_failure_is_followed_by_the_next_attempt_until_none_is_left() {
    check(
        "type work follows distributed max_attempts=3
         0     ann create work a        => attempt 1, retry_count 0, max_attempts 3
         0     w1  claim start
         1     w1  fail a               => queued, attempt 2, retry_count 1, run_at 1.5, claimed never, started never
         1.4   w1  claim                => none
         1.5   w1  claim start          => a running, attempt 2, claimed 1.5, started 1.5
         2     w1  fail a               => queued, attempt 3, retry_count 2, run_at 3
         3     w1  claim start          => a running
         4     w1  fail a               => dead_lettered, retry_count 3, attempt 3
         4     -   letter a             => exhausted_retries, attempts 3, owner w1, error BROKEN, lease until 33
         4     -   history a => job_queued@0 > job_claimed@0 > job_started@0 > job_retried@1 > job_claimed@1.5 > job_started@1.5 > job_retried@2 > job_claimed@3 > job_started@3 > job_dead_lettered@4",
    );
}

#[test]
fn delays_grow_up_to_their_maximum() {
    check(
        "type work follows distributed base=1s max=3s
         0     ann create work a
         0     w1  claim start
         1     w1  fail a               => run_at 2
         2     w1  claim start
         3     w1  fail a               => run_at 5
         5     w1  claim start
         6     w1  fail a               => run_at 9
         9     w1  claim start
         10    w1  fail a               => run_at 13",
    );
}

#[test]
fn a_worker_may_set_the_retry_delay() {
    check(
        "type work  follows distributed
         type image follows image
         0     ann create work a
         0     ann create image b
         0     w1  claim start max=2
         1     w1  fail a retry_after=20s => queued, run_at 21
         1     w1  fail b retry_after=20s => failed, due 21
         22    ann sweep b
         22    -   see b                => queued, run_at 21, attempt 2",
    );
}

#[test]
fn a_release_uses_up_no_attempt() {
    check(
        r#"type work follows distributed max_attempts=1
         0     ann create work a
         0     w1  claim start
         1     w1  release a checkpoint={"page":3} => queued, attempt 2, retry_count 0, run_at 1, checkpoint {"page":3}, error none
         2     w1  claim start          => a running, checkpoint {"page":3}
         3     w1  release a delay=10s  => queued, attempt 3, retry_count 0, run_at 13
         13    w1  claim                => a assigned
         14    w1  release a            => queued, attempt 4, retry_count 0"#,
    );
}

#[test]
fn a_permanent_failure_is_not_retried() {
    check(
        "type work  follows distributed
         type image follows image
         0     ann create work a
         0     ann create image b
         0     w1  claim start max=2
         1     w1  fail a class=permanent => failed, retry_count 1, completed 1
         1     w1  fail b class=permanent => dead_letter, retry_count 1, completed 1
         1     -   history b            => job_queued@0 > job_running@0 > job_failed@1 > job_dead_lettered@1
         1     -   actors b             => ann > worker:w1 > worker:w1 > clock
         1     -   letter a             => none
         1     -   letter b             => infrastructure_failure, attempts 1, owner w1",
    );
}

#[test]
fn a_waiting_job_returns_to_the_queue_when_due() {
    check(
        "type image follows image
         0     ann create image a
         0     w1  claim
         1     w1  fail a               => failed, due 1.5, worker w1, attempt 1, seq 3
         1.2   w1  claim                => none
         2     w1  claim                => a running, attempt 2
         2     -   history a            => job_queued@0 > job_running@0 > job_failed@1 > job_requeued@1.5 > job_running@2",
    );
}

#[test]
fn a_success_clears_the_error_and_a_failure_keeps_the_progress() {
    check(
        r#"type work follows distributed
         0     ann create work a
         0     w1  claim start
         1     w1  progress a 40
         2     w1  fail a               => error BROKEN, class Transient, category Engine, progress 40
         3     w1  claim start          => error BROKEN
         4     w1  succeed a result={"n":1} => succeeded, error none, progress 100, result {"n":1}"#,
    );
}

#[test]
fn a_dead_letter_has_a_reason() {
    check(
        "type image  follows image max_attempts=2
         0     ann create image exhausted
         0     ann create image parse
         0     ann create image fetch
         0     ann create image invalid
         0     ann create image other
         0     ann create image own
         0     w1  claim max=6
         1     w1  fail parse     class=permanent stage=input
         1     w1  fail fetch     class=permanent stage=fetch
         1     w1  fail invalid   class=validation stage=fetch
         1     w1  fail other     class=permanent stage=exec
         1     w1  fail own       class=permanent stage=fetch reason=policy_violation
         1     w1  fail exhausted stage=fetch   => failed
         2     w1  claim
         3     w1  fail exhausted stage=fetch   => dead_letter
         3     -   letter parse     => parse_error
         3     -   letter fetch     => dependency_unavailable
         3     -   letter invalid   => validation_failed
         3     -   letter other     => infrastructure_failure
         3     -   letter own       => policy_violation, attempts 1
         3     -   letter exhausted => exhausted_retries, attempts 2, at 3",
    );
}

#[test]
fn only_a_transient_failure_exhausts_the_attempts() {
    check(
        "type image follows image max_attempts=1
         0     ann create image a
         0     ann create image b
         0     w1  claim max=2
         1     w1  fail a stage=input                 => dead_letter
         1     w1  fail b stage=input class=permanent => dead_letter
         1     -   letter a => exhausted_retries
         1     -   letter b => parse_error",
    );
}

#[test]
fn a_manual_dead_letter_has_the_given_reason() {
    check(
        "type work follows distributed
         0     ann create work a
         0     ann create work b
         0     w1  claim
         1     ann dead-letter a dependency_unavailable => dead_lettered, error DEPENDENCY_UNAVAILABLE
         1     ann dead-letter b timeout      => dead_lettered
         1     -   letter a   => dependency_unavailable, owner w1, lease until 30
         1     -   letter b   => timeout, owner none, lease until never
         2     ann dismiss b  => dead_lettered
         2     -   letter b   => dismissed
         2     -   audit      => dismiss by ann
         3     ann dismiss b
         3     -   audit      => dismiss by ann",
    );
}

#[test]
fn a_retry_of_a_finished_job_is_a_new_job() {
    check(
        "type work follows distributed max_attempts=1
         0     ann create work a priority=7
         0     ann retry a as=b         => invalid_transition create from queued
         0     w1  claim start
         1     w1  fail a               => dead_lettered
         2     ann retry a as=b key=k   => b, queued, attempt 1, retry_count 0, retry of a, priority 7, max_attempts 1
         3     ann retry a as=c key=k   => b, replayed
         4     ann retry a as=c         => c, queued, retry of a
         4     -   see a                => dead_lettered, seq 4",
    );
}
