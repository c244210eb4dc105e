-- next_run: the first ready job of several claim slots whose `run_at` is in the future. Index: job_states_ready.
select min(later.run_at)
from unnest($1::text[], $2::text[], $3::integer[]) as u (queue, type, priority)
cross join lateral (
    select s.run_at from job_states s
    where s.ready and s.queue = u.queue and s.type = u.type and s.priority = u.priority and s.run_at > $4
    order by s.run_at limit 1
) later
