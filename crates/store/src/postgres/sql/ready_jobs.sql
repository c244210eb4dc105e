-- ready_jobs: for each queue and type with ready jobs: the number of jobs with a `run_at` up to $1, at most $2 of each
-- priority, and the earliest later `run_at`. Only queues of $3 that are not paused, and types of $4; null is any. By a
-- skip scan. Index: job_states_ready.
with recursive slot as (
    (select s.queue, s.type, s.priority from job_states s where s.ready order by s.queue, s.type, s.priority desc
    limit 1)
    union all
    select next.queue, next.type, next.priority
    from slot
    cross join lateral (
        (select s.queue, s.type, s.priority from job_states s
        where s.ready and s.queue = slot.queue and s.type = slot.type and s.priority < slot.priority
        order by s.queue, s.type, s.priority desc limit 1)
        union all
        (select s.queue, s.type, s.priority from job_states s
        where s.ready and (s.queue, s.type) > (slot.queue, slot.type)
        order by s.queue, s.type, s.priority desc limit 1)
        limit 1
    ) next
)
select slot.queue, slot.type, sum(claimable.count)::bigint, min(later.run_at)
from slot
cross join lateral (
    select count(*) from (
        select from job_states s
        where s.ready and s.queue = slot.queue and s.type = slot.type and s.priority = slot.priority
            and s.run_at <= $1
        order by s.run_at limit $2
    ) first
) claimable
left join lateral (
    select s.run_at from job_states s
    where s.ready and s.queue = slot.queue and s.type = slot.type and s.priority = slot.priority and s.run_at > $1
    order by s.run_at limit 1
) later on true
where ($3::text[] is null or slot.queue = any($3)) and ($4::text[] is null or slot.type = any($4))
    and not exists (select from paused_queues p where p.queue = slot.queue)
group by slot.queue, slot.type
