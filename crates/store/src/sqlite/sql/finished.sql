-- finished: jobs completed since a time, newest first, without what may be large: payload, result, checkpoint, error and
-- amendments. Index: job_states_completed, then the primary key of jobs.
select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost, 'null',
    j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow,
    s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at, s.clock_at,
    s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, null,
    null, null, s.progress, s.cancel, s.log_count, null
from job_states s indexed by job_states_completed cross join jobs j on j.id = s.id
where s.completed_at >= ?1 order by s.completed_at desc, s.id desc limit ?2
