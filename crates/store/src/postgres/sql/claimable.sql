-- claimable: the first ready jobs of several claim slots (queue, type, priority), each after a position, locked; rows
-- locked by other batches are skipped. A first step without locks finds how many jobs each slot contributes, so that
-- no more are locked than are wanted. `offset 0` prevents the planner, which does not know how few rows are wanted,
-- from reading all jobs. Index: job_states_ready, the primary key.
with slot as materialized (
    select u.queue, u.type, u.priority, u.after_run_at, u.after_id
    from unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::uuid[])
        as u (queue, type, priority, after_run_at, after_id)
    where not exists (select from paused_queues p where p.queue = u.queue)
), share as materialized (
    select best.queue, best.type, best.priority, best.after_run_at, best.after_id, count(*) as wanted
    from (
        select slot.*
        from slot
        cross join lateral (
            select s.run_at, s.id from job_states s
            where s.ready and s.queue = slot.queue and s.type = slot.type and s.priority = slot.priority
                and (s.run_at, s.id) > (slot.after_run_at, slot.after_id) and s.run_at <= $6
            order by s.run_at, s.id limit $7
        ) claimable
        order by slot.priority desc, claimable.run_at, claimable.id limit $7
    ) best
    group by best.queue, best.type, best.priority, best.after_run_at, best.after_id
)
select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost,
    j.payload,
    j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow,
    s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at,
    s.clock_at,
    s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, s.error,
    s.result, s.checkpoint, s.progress, s.cancel, s.log_count, s.amended
from share
cross join lateral (
    select s.* from job_states s
    where s.ready and s.queue = share.queue and s.type = share.type and s.priority = share.priority
        and (s.run_at, s.id) > (share.after_run_at, share.after_id) and s.run_at <= $6
    order by s.run_at, s.id limit share.wanted for update skip locked
) s
cross join lateral (select * from jobs where jobs.id = s.id offset 0) j
order by s.priority desc, s.run_at, s.id
