//! What every store promises. A promise is written once, as a test over any store; a new store is one line.

mod assets;
mod batches;
mod callers;
mod claims;
mod clocks;
mod events;
mod keys;
mod listings;
mod money;
mod nodes;
mod orders;
mod outputs;
mod retention;
mod watch;

pub(crate) use assets::*;
pub(crate) use batches::*;
pub(crate) use callers::*;
pub(crate) use claims::*;
pub(crate) use clocks::*;
pub(crate) use events::*;
pub(crate) use keys::*;
pub(crate) use listings::*;
pub(crate) use money::*;
pub(crate) use nodes::*;
pub(crate) use orders::*;
pub(crate) use outputs::*;
pub(crate) use retention::*;
pub(crate) use watch::*;

/// One test for each promise, on the store that `$fresh` makes.
macro_rules! promises {
    ($fresh:path) => {
        $crate::conformance::promises!(@each $fresh:
            what_a_batch_changed_is_there_after_it,
            a_refused_command_changes_nothing,
            a_judge_that_changes_nothing_writes_nothing,
            a_batch_is_decided_in_order_on_one_working_set,
            what_loaded_things_lead_to_is_loaded,
            every_value_comes_back_as_it_went,
            records_of_every_kind_pass_verify,
            claims_take_the_best_first,
            claims_follow_their_filter,
            a_delayed_job_waits_for_its_time,
            a_paused_queue_gives_nothing,
            concurrent_claims_share_the_jobs,
            a_job_claimed_by_one_node_is_held_for_all,
            the_clock_never_runs_backwards,
            a_judge_is_told_the_stores_time,
            what_is_due_is_found_oldest_first,
            a_lost_lease_returns_the_job,
            the_journal_is_read_in_pages,
            a_follower_misses_nothing_and_sees_one_order,
            a_history_has_its_notes_last,
            a_key_leads_to_one_job_under_concurrency,
            a_verb_under_a_key_happens_once,
            a_key_with_another_body_is_refused,
            a_listing_is_what_its_filter_admits,
            a_search_reaches_so_many_jobs,
            counts_add_up,
            a_balance_is_never_overdrawn_under_concurrency,
            a_ledger_is_read_in_pages,
            accounts_are_scanned_with_their_sums,
            dead_letters_are_listed_and_dismissed,
            log_lines_are_numbered_without_a_gap,
            telemetry_is_kept_in_order,
            the_trail_of_operators_is_read_in_pages,
            a_lifecycle_comes_into_force_once,
            a_purged_job_leaves_only_its_ledger_and_trail,
            positions_are_not_given_out_again,
            what_is_past_its_time_is_pruned,
            finished_jobs_are_found_by_age,
            a_scan_sees_every_job_once,
            keys_of_callers_are_kept_and_revoked,
            a_key_of_a_caller_is_made_once_under_concurrency,
            workers_are_told_of_last_heard_first,
            workers_that_are_not_heard_are_forgotten,
            nodes_are_told_of_last_heard_first,
            nodes_that_are_not_heard_are_forgotten,
            a_name_is_its_newest_connections,
            of_connections_that_come_at_once_one_has_the_name,
            gauges_tell_of_live_jobs_and_open_dead_letters,
            leased_jobs_are_those_that_are_held,
            waiting_jobs_are_those_that_wait,
            finished_jobs_are_told_newest_first,
            dead_letters_are_found_by_their_jobs,
            assets_are_listed_newest_first,
            an_asset_under_a_key_is_added_once,
            a_job_has_so_many_assets_and_no_more,
            only_the_holder_adds_assets_under_a_lease,
            an_object_is_garbage_unless_it_is_an_asset,
            a_hard_cancel_discards_what_there_was,
            assets_go_with_their_job_and_their_objects_are_garbage,
            standing_orders_are_kept_changed_and_forgotten,
            a_time_of_a_schedule_makes_one_job_under_concurrency,
            one_node_at_a_time_sends_for_a_webhook,
        );
    };
    (@each $fresh:path: $($promise:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                $crate::conformance::$promise($fresh().await).await;
            }
        )+
    };
}

pub(crate) use promises;
