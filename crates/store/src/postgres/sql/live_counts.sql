-- live_counts: number of unfinished jobs by lifecycle, type, queue and state. Sequential scans are disabled for it,
-- because with few rows the planner would read finished jobs too. Index: job_states_ready, job_states_busy.
select live.lifecycle, live.type, live.queue, live.state, count(*)
from (
    select s.lifecycle, s.type, s.queue, s.state from job_states s where s.ready
    union all
    select s.lifecycle, s.type, s.queue, s.state from job_states s where not s.ready and s.completed_at is null
) live
group by live.lifecycle, live.type, live.queue, live.state
order by live.lifecycle, live.type, live.queue, live.state
