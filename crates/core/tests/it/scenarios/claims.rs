//! Claims: which job a worker gets, and in which order.

scenarios! {
    include_str!("claims.txt");
    fn claims_take_priority_then_run_at_then_creation();
    fn a_claim_respects_its_maximum_and_its_filter();
    fn a_claim_with_start_makes_both_transitions_if_there_are_two();
    fn a_repeated_claim_request_returns_the_jobs_that_are_still_held();
    fn a_claim_request_without_a_job_may_be_repeated();
    fn a_claim_accepts_an_idempotency_key();
    fn nothing_is_claimed_from_a_paused_queue();
}
