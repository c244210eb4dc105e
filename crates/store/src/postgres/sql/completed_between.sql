-- completed_between: finished jobs of a lifecycle after a job, oldest first, for retention. Index: job_states_completed,
-- the primary key of jobs.
select s.id, j.lifecycle_version, s.completed_at
from (
    select f.id, f.completed_at from job_states f
    where f.lifecycle = $1 and (f.completed_at, f.id) > ($2, $3) and f.completed_at < $4
    order by f.completed_at, f.id limit $5
) s
cross join lateral (select lifecycle_version from jobs where jobs.id = s.id offset 0) j
order by s.completed_at, s.id
