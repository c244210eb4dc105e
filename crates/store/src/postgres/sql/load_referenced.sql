-- load_referenced: jobs that are not in memory. Index: the primary keys.
select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost,
    j.payload,
    j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow,
    s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at,
    s.clock_at,
    s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, s.error,
    s.result, s.checkpoint, s.progress, s.cancel, s.log_count, s.amended
from jobs j join job_states s on s.id = j.id where j.id = any($1)
