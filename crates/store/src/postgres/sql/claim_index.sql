-- claim_index: queues, types and priorities that have ready jobs, each with the first `run_at`, by a skip scan. Index:
-- job_states_ready.
with recursive slot as (
    (select s.queue, s.type, s.priority, s.run_at from job_states s where s.ready
    order by s.queue, s.type, s.priority desc, s.run_at limit 1)
    union all
    select next.queue, next.type, next.priority, next.run_at
    from slot
    cross join lateral (
        (select s.queue, s.type, s.priority, s.run_at from job_states s
        where s.ready and s.queue = slot.queue and s.type = slot.type and s.priority < slot.priority
        order by s.queue, s.type, s.priority desc, s.run_at limit 1)
        union all
        (select s.queue, s.type, s.priority, s.run_at from job_states s
        where s.ready and (s.queue, s.type) > (slot.queue, slot.type)
        order by s.queue, s.type, s.priority desc, s.run_at limit 1)
        limit 1
    ) next
)
select queue, type, priority, run_at from slot
