//! Clocks: time is a trigger like any other (law 9), and an outage stops the clocks.

scenarios! {
    include_str!("clocks.txt");
    fn a_timeout_in_the_queue_precedes_a_late_claim();
    fn a_timeout_error_names_its_state();
    fn overdue_clocks_fire_in_order_each_at_its_own_time();
    fn a_lease_and_a_timeout_fire_in_order();
    fn an_outage_shifts_leases_timeouts_grace_and_due_times_but_not_run_at();
    fn deadlines_before_an_outage_fire_before_it();
    fn a_repeated_claim_shows_expired_leases();
    fn a_repeated_retry_shows_the_current_job();
    fn a_timeout_of_the_catch_all_applies_to_its_own_lifecycle_only();
}
