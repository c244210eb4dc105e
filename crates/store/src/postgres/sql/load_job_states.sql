-- load_job_states: states of the jobs of a batch, locked in order. Index: the primary key.
select s.id, s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at,
    s.clock_at,
    s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, s.error,
    s.result, s.checkpoint, s.progress, s.cancel, s.log_count, s.amended
from job_states s where s.id = any($1) order by s.id for update
