-- update_live: the state of an unfinished job. `completed_at` stays null, so no index is updated. The parameters have
-- the numbers that they have in update_state. Index: the primary key.
update job_states set state = ?2, phase = ?3, outcome = ?4, seq = ?5, attempt = ?6, retry_count = ?7, fence = ?8,
    run_at = ?9, timeout_at = ?10, due_at = ?11, clock_at = ?12, updated_at = ?13, claimed_at = ?14, started_at = ?15,
    entered = ?17, worker = ?18, lease = ?19, last_lease = ?20, error = ?21, result = ?22, checkpoint = ?23,
    progress = ?24, cancel = ?25, log_count = ?26, amended = ?27
where id = ?1
