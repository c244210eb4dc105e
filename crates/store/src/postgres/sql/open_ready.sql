-- open_ready: what the indexes in memory need of the saved ready jobs after an id, read when a node starts. Index: job_states_live.
select id, priority, run_at, clock_at, lifecycle, type, queue, state, attempt, flow
from job_states where completed_at is null and phase = $1 and id > $2 order by id limit $3
