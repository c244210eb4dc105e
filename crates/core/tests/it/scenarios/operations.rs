//! Signals, commands with keys, rejections, progress, logs, retention.

scenarios! {
    include_str!("operations.txt");
    fn a_lifecycle_may_declare_signals();
    fn a_command_with_a_key_takes_effect_once();
    fn a_key_expires_after_a_day();
    fn a_refusal_does_not_consume_the_key();
    fn a_key_does_not_keep_a_lost_lease_alive();
    fn a_job_is_rejected_by_its_holder_or_without_one_by_an_operator();
    fn progress_counts_while_the_job_is_active_and_is_ignored_elsewhere();
    fn log_lines_are_numbered_without_a_gap_and_kept_past_the_end();
    fn a_job_is_purged_after_its_retention();
    fn an_unfinished_job_is_never_purged();
    fn a_failure_without_a_report_has_an_error();
    fn a_partial_success_is_recorded_as_partial();
    fn audit_lines_have_the_values_before_and_after();
}
