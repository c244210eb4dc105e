-- claim_index: the queues, types and priorities that have ready jobs, by jumping from each to the next. Index:
-- job_states_ready.
with recursive shelf as (
    (select s.queue, s.type, s.priority from job_states s where s.ready order by s.queue, s.type, s.priority desc
    limit 1)
    union all
    select next.queue, next.type, next.priority
    from shelf
    cross join lateral (
        (select s.queue, s.type, s.priority from job_states s
        where s.ready and s.queue = shelf.queue and s.type = shelf.type and s.priority < shelf.priority
        order by s.queue, s.type, s.priority desc limit 1)
        union all
        (select s.queue, s.type, s.priority from job_states s
        where s.ready and (s.queue, s.type) > (shelf.queue, shelf.type)
        order by s.queue, s.type, s.priority desc limit 1)
        limit 1
    ) next
)
select queue, type, priority from shelf
