-- claim_index: queues, types and priorities that have ready jobs, by a skip scan. Index: job_states_ready.
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
select queue, type, priority from slot
