-- live_counts: how many live jobs are where: the ready ones, and those that are held or wait. Sent with sequential scans
-- off, since the planner would read the finished jobs too when there are few. Index: job_states_ready, job_states_busy.
select live.lifecycle, live.type, live.queue, live.state, count(*)
from (
    select s.lifecycle, s.type, s.queue, s.state from job_states s where s.ready
    union all
    select s.lifecycle, s.type, s.queue, s.state from job_states s where not s.ready and s.completed_at is null
) live
group by live.lifecycle, live.type, live.queue, live.state
order by live.lifecycle, live.type, live.queue, live.state
