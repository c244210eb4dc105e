//! Leases: one holder at a time (law 4), and reports that may be repeated (law 7).

scenarios! {
    include_str!("leases.txt");
    fn a_worker_that_lost_its_lease_cannot_finish_the_job();
    fn the_same_worker_cannot_finish_under_its_old_lease_what_it_holds_under_a_new_one();
    fn a_refusal_says_how_the_lease_ended();
    fn a_transition_by_others_revokes_the_lease();
    fn a_holder_may_repeat_the_report_that_ended_its_lease();
    fn a_worker_with_an_expired_lease_cannot_repeat_a_report();
    fn a_heartbeat_renews_when_half_of_the_lease_or_less_remains();
    fn a_refused_report_is_not_a_heartbeat();
    fn two_missed_heartbeats_end_the_lease_early();
    fn a_lost_connection_ends_the_lease_if_the_lifecycle_says_so();
    fn a_lease_belongs_to_the_credential_that_claimed_the_job();
    fn the_last_holder_of_a_job_is_known_by_its_credential();
    fn a_workers_key_belongs_to_its_credential();
    fn a_lease_without_a_credential_is_judged_by_worker_and_fence();
    fn events_have_the_credential_of_their_caller();
}
