-- oldest_ready: for each queue and type, the earliest time from which a job could be claimed and was not: the first of
-- each priority, by jumping from each to the next. Index: job_states_ready.
with recursive shelf as (
    (select s.queue, s.type, s.priority, s.run_at from job_states s where s.ready
    order by s.queue, s.type, s.priority desc, s.run_at limit 1)
    union all
    select next.queue, next.type, next.priority, next.run_at
    from shelf
    cross join lateral (
        (select s.queue, s.type, s.priority, s.run_at from job_states s
        where s.ready and s.queue = shelf.queue and s.type = shelf.type and s.priority < shelf.priority
        order by s.queue, s.type, s.priority desc, s.run_at limit 1)
        union all
        (select s.queue, s.type, s.priority, s.run_at from job_states s
        where s.ready and (s.queue, s.type) > (shelf.queue, shelf.type)
        order by s.queue, s.type, s.priority desc, s.run_at limit 1)
        limit 1
    ) next
)
select queue, type, min(run_at) from shelf where run_at <= $1 group by queue, type order by queue, type
