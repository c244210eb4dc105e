-- claimable_slot: `claimable` for one slot, which is the common case. Index: job_states_ready.
select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost,
    j.payload,
    j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow,
    s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at,
    s.clock_at,
    s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, s.error,
    s.result, s.checkpoint, s.progress, s.cancel, s.log_count, s.amended
from (
    select s.* from job_states s
    where s.ready and s.queue = $1 and s.type = $2 and s.priority = $3 and (s.run_at, s.id) > ($4, $5) and s.run_at <=
    $6
        and not exists (select from paused_queues p where p.queue = $1)
    order by s.run_at, s.id limit $7 for update skip locked
) s
join jobs j on j.id = s.id
order by s.run_at, s.id
