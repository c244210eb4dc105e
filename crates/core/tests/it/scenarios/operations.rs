//! Signals, commands with keys, rejections, progress, logs, retention.

use super::check;

#[test]
fn a_lifecycle_may_declare_signals() {
    check(
        r#"type draft follows review
         0     ann create draft a
         0     ann create draft b
         0     ann signal a approve     => invalid_transition signal:approve from queued, allowed claim timeout
         0     w1  claim max=2          => a drafting, b drafting
         1     w1  succeed a result={"text":1} => in_review, worker w1, progress 100, due never, timeout 259201
         1     w1  succeed b
         2     ann signal a publish     => invalid_transition signal:publish from in_review
         3     ann signal a approve note={"by":"ann"} key=k => published, result {"text":1}, completed 3
         3     ann signal a approve key=k => published, replayed
         3     ann signal a decline key=k => invalid_transition signal:decline from published
         4     ann signal b decline     => rejected
         4     -   audit                => DECLINED by ann
         4     -   history b            => job_queued@0 > drafting_started@0 > job_in_review@1 > job_rejected@4"#,
    );
}

#[test]
fn a_command_with_a_key_takes_effect_once() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim start
         1     w1  release a key=k             => queued, not replayed
         2     w1  release a key=k             => queued, replayed, attempt 2
         3     w1  claim start                 => fence 2
         4     w1  release a key=k             => running, replayed
         4     w1  release a key=k body=other  => idempotency_mismatch
         5     w1  fail a key=k                => queued, not replayed
         6     ann cancel a key=c              => cancelled
         7     ann cancel a key=c              => cancelled, replayed
         7     ann cancel a key=d              => invalid_transition cancel from cancelled",
    );
}

#[test]
fn a_key_expires_after_a_day() {
    check(
        "type work follows distributed
         0     ann create work a
         1     ann cancel a key=k       => cancelled
         86400 ann cancel a key=k       => cancelled, replayed
         86401 ann cancel a key=k       => invalid_transition cancel from cancelled",
    );
}

#[test]
fn a_refusal_does_not_consume_the_key() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  succeed a key=k      => invalid_transition
         0     w1  claim start
         1     w1  succeed a key=k      => succeeded, not replayed",
    );
}

#[test]
fn a_key_does_not_keep_a_lost_lease_alive() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  claim
         1     w1  heartbeat a key=k    => expires 31
         2     w1  heartbeat a key=k    => expires 31
         60    w2  claim                => a, fence 2
         61    w1  heartbeat a key=k    => lease_conflict superseded",
    );
}

#[test]
fn a_job_is_rejected_by_its_holder_or_without_one_by_an_operator() {
    check(
        "type image follows image
         type work  follows distributed
         0     ann create image a
         0     ann create image b
         0     ann create work c
         0     w1  reject a             => lease_conflict lost
         0     ann reject a             => rejected, error REJECTED, category Validation, class Validation
         1     w1  claim max=2          => b > c
         1     ann reject b             => lease_conflict wrong_worker
         1     ann reject c             => invalid_transition reject from assigned
         2     w1  reject b             => rejected, worker w1, retry_count 0
         2     w1  reject b             => replayed
         2     ann reject b             => invalid_transition reject from rejected
         2     -   audit                => SAFE_BLOCK by ann > SAFE_BLOCK by worker:w1",
    );
}

#[test]
fn progress_counts_while_the_job_is_active_and_is_ignored_elsewhere() {
    check(
        "type work follows distributed
         0     ann create work a
         0     w1  progress a 1         => lease_conflict lost
         0     w1  claim
         1     w1  progress a 5         => ignored, progress 0
         2     w1  start a
         3     w1  progress a 40        => not ignored, progress 40
         3     w1  progress a 101       => validation_failed
         3     w2  progress a 50 fence=1 => lease_conflict wrong_worker
         4     w1  progress a 30        => progress 30
         5     w1  release a            => progress 30
         6     w1  progress a 60        => ignored, queued, progress 30
         7     w2  claim start
         8     w1  progress a 70        => lease_conflict superseded
         9     w2  succeed a            => progress 100
         9     w2  progress a 10        => ignored, progress 100
         9     -   telemetry a          => progress 40@3 > progress 30@4",
    );
}

#[test]
fn log_lines_are_numbered_without_a_gap_and_kept_past_the_end() {
    check(
        "type work follows so1
         0     ann create work a
         0     ann log a from-its-owner => 1 lines
         1     w1  log a too-early      => lease_conflict lost
         1     w1  claim
         2     w1  log a one two        => 3 lines
         3     w2  log a three fence=1  => lease_conflict wrong_worker
         4     w1  succeed a
         5     w1  log a late           => 4 lines
         5     -   log a                => 1 from-its-owner > 2 one > 3 two > 4 late
         5     -   see a                => success, seq 3",
    );
}

#[test]
fn a_job_is_purged_after_its_retention() {
    check(
        "type work follows distributed
         0       ann create work a
         1       ann log a hello
         1       ann dead-letter a timeout
         2592000 clock purge a          => nothing
         2592000 -     gone a           => there
         2592001 clock purge a          => nothing
         2592001 -     gone a           => gone
         2592001 ann retry a as=b       => not_found
         2592001 clock purge a          => not_found",
    );
}

#[test]
fn an_unfinished_job_is_never_purged() {
    check(
        "type work follows distributed
         0        ann create work a key=k
         99999999 clock purge a         => nothing
         99999999 clock prune           => nothing
         99999999 -     see a           => queued
         99999999 ann create work b key=k => b, not replayed",
    );
}

#[test]
fn a_failure_without_a_report_has_an_error() {
    check(
        "type work follows odd
         0     ann create work a
         0     ann create work b
         1     ann signal a refuse      => refused, error SIGNAL_REFUSE, class Permanent, category System, retry_count 0
         1     -   audit                => REFUSED by ann
         1     ann dead-letter b policy_violation => refused, error POLICY_VIOLATION, completed 1
         1     -   history b            => job_queued@0 > job_parked@1 > job_refused@1",
    );
}

#[test]
fn a_partial_success_is_recorded_as_partial() {
    check(
        "type work follows pattern
         0     ann create work a
         0     w1  claim                => a processing, started 0, claimed 0
         5     w1  partial a result=[1] code=HALF => partial, progress 100, result [1], error HALF, completed 5",
    );
}
