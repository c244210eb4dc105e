-- finished: jobs completed since a time, newest first: the newest of each lifecycle, by jumping from each lifecycle
-- to the next. Without what may be large: payload, result, checkpoint, error and amendments. Index:
-- job_states_completed, the primary key.
with recursive followed as (
    (select s.lifecycle from job_states s where s.completed_at is not null order by s.lifecycle limit 1)
    union all
    select next.lifecycle
    from followed
    cross join lateral (
        select s.lifecycle from job_states s
        where s.completed_at is not null and s.lifecycle > followed.lifecycle order by s.lifecycle limit 1
    ) next
), recent as materialized (
    select newest.*
    from followed
    cross join lateral (
        select s.* from job_states s
        where s.lifecycle = followed.lifecycle and s.completed_at >= $1
        order by s.completed_at desc, s.id desc limit $2
    ) newest
    order by newest.completed_at desc, newest.id desc limit $2
)
select j.id, j.type, j.lifecycle, j.lifecycle_version, j.queue, j.user_id, j.priority, j.max_attempts, j.cost,
    'null'::text,
    j.created_at, j.correlation_id, j.traceparent, j.idempotency_key, j.retry_of, j.compensates, j.flow,
    s.state, s.phase, s.outcome, s.seq, s.attempt, s.retry_count, s.fence, s.run_at, s.timeout_at, s.due_at,
    s.clock_at,
    s.updated_at, s.claimed_at, s.started_at, s.completed_at, s.entered, s.worker, s.lease, s.last_lease, null::text,
    null::text, null::text, s.progress, s.cancel, s.log_count, null::text
from recent s
cross join lateral (select * from jobs where jobs.id = s.id offset 0) j
order by s.completed_at desc, s.id desc
