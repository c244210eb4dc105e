-- waiting: jobs in a waiting state: not ready, not finished, without a lease. Index: job_states_busy, the primary key
-- of jobs.
select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost,
    j.payload,
    j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow,
    s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at,
    s.clock_at,
    s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, s.error,
    s.result, s.checkpoint, s.progress, s.cancel, s.log_count, s.amended
from (
    select b.* from job_states b
    where not b.ready and b.completed_at is null and b.lease is null order by b.id limit $1
) s
cross join lateral (select * from jobs where jobs.id = s.id offset 0) j
