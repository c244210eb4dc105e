-- open: saved unfinished jobs that are not ready, after an id, up to a number of jobs and, after the first, of bytes; read when a node
-- starts. Index: job_states_live, the primary key of jobs.
select id, type, lifecycle, lifecycle_version, queue, user_id, priority, max_attempts, cost, payload, created_at, correlation_id,
    traceparent, idempotency_key, retry_of, compensates, flow,
    state, phase, outcome, seq, attempt, retry_count, fence, run_at, timeout_at, due_at, clock_at, updated_at, claimed_at,
    started_at, completed_at, entered, worker, lease, last_lease, error, result, checkpoint, progress, cancel, log_count, amended
from (
    select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost,
        j.payload,
        j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow,
        s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at,
        s.clock_at,
        s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, s.error,
        s.result, s.checkpoint, s.progress, s.cancel, s.log_count, s.amended,
        sum(octet_length(j.payload) + coalesce(octet_length(s.result), 0) + coalesce(octet_length(s.checkpoint), 0)
                + coalesce(octet_length(s.amended), 0))
            over (order by s.id rows between unbounded preceding and 1 preceding) as bytes_before
    from (select * from job_states where completed_at is null and phase <> $1 and id > $2 order by id limit $3) s
    cross join lateral (select * from jobs where jobs.id = s.id offset 0) j
) j
where coalesce(bytes_before, 0) < $4
order by id
