//! The promises of every store: each is a test that is generic over the store, so a new store adds one line.

mod assets;
mod automations;
mod batches;
mod callers;
mod claims;
mod clocks;
mod events;
mod flow;
mod intake;
mod keys;
mod listings;
mod money;
mod nodes;
mod outputs;
mod resources;
mod retention;
mod statistics;
mod watch;

pub(crate) use assets::*;
pub(crate) use automations::*;
pub(crate) use batches::*;
pub(crate) use callers::*;
pub(crate) use claims::*;
pub(crate) use clocks::*;
pub(crate) use events::*;
pub(crate) use flow::*;
pub(crate) use intake::*;
pub(crate) use keys::*;
pub(crate) use listings::*;
pub(crate) use money::*;
pub(crate) use nodes::*;
pub(crate) use outputs::*;
pub(crate) use resources::*;
pub(crate) use retention::*;
pub(crate) use statistics::*;
pub(crate) use watch::*;

/// One test for each promise, on the store that `$fresh` creates.
macro_rules! promises {
    ($fresh:path) => {
        $crate::conformance::promises!(@each $fresh:
            the_changes_of_a_batch_are_stored,
            no_more_leases_are_granted_than_a_resource_has,
            a_blocked_key_does_not_delay_others,
            tokens_are_counted_over_all_nodes,
            overrides_and_pauses_act_on_every_node_from_their_commit,
            a_worker_pauses_the_bucket_of_its_job,
            a_full_bucket_refuses_creations,
            a_sequence_runs_in_order_and_halts,
            keys_share_a_queue_by_their_weights,
            an_earlier_command_of_the_batch_makes_no_group_smaller,
            jobs_are_claimed_in_groups,
            a_batch_may_have_more_payload_than_any_cache,
            a_refused_command_changes_nothing,
            a_decision_without_changes_writes_nothing,
            a_batch_is_decided_in_order_on_one_working_set,
            referenced_records_are_loaded_too,
            every_value_is_read_as_written,
            records_of_every_kind_pass_verify,
            claims_take_the_best_first,
            claims_take_the_best_of_300_queues_and_types,
            a_ready_state_without_a_rule_for_claims_delays_no_claim,
            claims_follow_their_filter,
            ready_jobs_are_counted_by_queue_and_type,
            a_delayed_job_waits_for_its_time,
            a_paused_queue_offers_no_jobs,
            concurrent_claims_share_the_jobs,
            a_job_claimed_by_one_node_is_held_for_all,
            the_clock_never_runs_backwards,
            decisions_receive_the_time_of_the_store,
            due_jobs_are_found_oldest_first,
            a_lost_lease_returns_the_job,
            the_journal_is_read_in_pages,
            an_outline_of_the_journal_has_its_events_without_large_facts,
            a_follower_sees_every_event_in_one_order,
            a_long_history_is_read_in_pages,
            notes_are_last_in_a_history,
            a_key_leads_to_one_job_under_concurrency,
            a_command_with_a_key_is_executed_once_under_concurrency,
            a_key_with_another_body_is_refused,
            a_listing_contains_what_its_filter_admits,
            a_search_examines_a_limited_number_of_jobs,
            counts_add_up,
            a_balance_is_never_overdrawn_under_concurrency,
            a_ledger_is_read_in_pages,
            accounts_are_scanned_with_their_sums,
            dead_letters_are_listed_and_dismissed,
            log_lines_are_numbered_without_a_gap,
            telemetry_is_kept_in_order,
            the_audit_log_is_read_in_pages,
            a_lifecycle_version_is_registered_once,
            a_purged_job_leaves_only_ledger_and_audit_lines,
            an_erased_user_keeps_amounts_under_an_alias,
            positions_are_not_reused,
            expired_records_are_pruned,
            a_limited_number_of_expired_records_is_pruned_at_once,
            finished_jobs_are_found_by_age,
            a_scan_sees_every_job_once,
            a_scan_of_large_jobs_has_short_pages,
            api_keys_are_stored_and_revoked,
            details_of_api_keys_are_stored_and_rotated,
            the_last_use_of_an_api_key_is_stored,
            sessions_begin_end_and_expire,
            an_api_key_is_created_once_under_concurrency,
            workers_are_listed_last_seen_first,
            workers_that_are_not_seen_are_pruned,
            nodes_are_listed_last_seen_first,
            nodes_that_are_not_seen_are_pruned,
            statistics_of_all_nodes_add_up_by_minute_hour_and_day,
            expired_statistics_are_pruned,
            a_worker_is_bound_to_its_newest_connection,
            one_of_several_simultaneous_connections_is_bound,
            gauges_count_live_jobs_and_open_dead_letters,
            gauges_are_exact_after_many_changes,
            leased_jobs_are_listed,
            all_leases_are_read_in_pages,
            pages_of_large_jobs_are_limited_in_bytes,
            waiting_jobs_are_listed,
            finished_jobs_are_listed_newest_first,
            dead_letters_are_found_by_their_jobs,
            assets_are_listed_newest_first,
            an_asset_under_a_key_is_added_once,
            the_number_of_assets_per_job_is_limited,
            only_the_holder_adds_assets_under_a_lease,
            an_object_is_garbage_unless_it_is_an_asset,
            a_hard_cancel_discards_assets,
            assets_are_purged_with_their_job_and_their_objects_become_garbage,
            automations_are_stored_changed_and_deleted,
            a_time_of_a_schedule_creates_one_job_under_concurrency,
            one_node_at_a_time_delivers_a_webhook,
            an_amendment_is_read_by_every_node,
            amended_jobs_are_claimed_by_their_new_priority_and_time,
            concurrent_creations_with_a_unique_key_create_one_job,
            concurrent_replacements_are_all_in_the_history,
            a_unique_key_is_free_after_its_job_is_purged,
            a_request_is_judged_once_under_concurrency,
            a_request_that_another_job_answers_is_recorded_as_merged,
            a_cancel_of_an_application_acts_once_and_its_refusal_has_an_event,
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
