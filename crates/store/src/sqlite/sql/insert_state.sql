-- insert_state: the first state of a job.
insert into job_states (id, state, phase, outcome, seq, attempt, retry_count, fence, run_at, timeout_at, due_at,
    clock_at, updated_at, claimed_at, started_at, completed_at, entered, worker, lease, last_lease, error, result,
    checkpoint, progress, cancel, log_count, amended, lifecycle)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
    ?25, ?26, ?27, ?28)
