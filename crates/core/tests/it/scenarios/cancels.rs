//! Cancels: immediate, soft with a grace period, and hard.

scenarios! {
    include_str!("cancels.txt");
    fn a_job_without_a_lease_is_cancelled_immediately();
    fn a_worker_may_confirm_a_soft_cancel();
    fn a_result_before_the_confirmation_wins();
    fn a_cancel_becomes_hard_after_its_grace_period();
    fn a_cancelled_job_is_not_retried();
    fn an_expired_lease_completes_a_pending_cancel();
    fn a_cancel_without_a_rule_lapses_after_its_grace_period();
    fn a_hard_cancel_does_not_wait_for_the_worker();
    fn a_lifecycle_without_a_cancel_rule_refuses_it();
}
