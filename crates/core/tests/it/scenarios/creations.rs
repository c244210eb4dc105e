//! Creations: types, keys, credits, and compensations.

scenarios! {
    include_str!("creations.txt");
    fn an_unknown_type_is_refused();
    fn a_caller_of_the_catch_all_may_choose_a_lifecycle();
    fn a_type_may_override_each_policy_of_its_lifecycle();
    fn a_given_key_finds_the_job_it_created();
    fn keys_of_different_types_are_separate();
    fn a_derived_key_covers_the_previous_minute();
    fn a_derived_key_without_the_minute_lasts_as_long_as_a_given_one();
    fn a_job_in_a_reusable_state_frees_its_key();
    fn due_clocks_fire_before_a_creation_checks_its_key();
    fn credits_are_reserved_and_settled_or_refunded_once();
    fn a_repeated_creation_is_charged_once();
    fn a_catch_all_job_is_refunded_if_its_lifecycle_has_no_credits();
    fn a_failed_job_is_compensated();
    fn a_failed_compensation_writes_a_dead_letter_in_any_lifecycle();
    fn a_job_that_never_ran_is_not_compensated();
    fn a_compensation_of_the_catch_all_type_does_not_compensate_itself();
}
