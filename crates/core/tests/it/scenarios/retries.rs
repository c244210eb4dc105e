//! Attempts: which failures use one up, the delay before the next, and the dead letter when none is left.

scenarios! {
    include_str!("retries.txt");
    fn a_failure_is_followed_by_the_next_attempt_until_none_is_left();
    fn delays_grow_up_to_their_maximum();
    fn a_worker_may_set_the_retry_delay();
    fn a_release_uses_up_no_attempt();
    fn a_permanent_failure_is_not_retried();
    fn a_waiting_job_returns_to_the_queue_when_due();
    fn a_success_clears_the_error_and_a_failure_keeps_the_progress();
    fn a_dead_letter_has_a_reason();
    fn only_a_transient_failure_exhausts_the_attempts();
    fn a_manual_dead_letter_has_the_given_reason();
    fn a_retry_of_a_finished_job_is_a_new_job();
}
