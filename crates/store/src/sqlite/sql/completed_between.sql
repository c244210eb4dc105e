-- completed_between: finished jobs of a lifecycle after a job, oldest first, for retention. Index: job_states_retention,
-- then the primary key of jobs.
select s.id, j.lifecycle_version, s.completed_at
from job_states s cross join jobs j on j.id = s.id
where s.lifecycle = ?1 and (s.completed_at, s.id) > (?2, ?3) and s.completed_at < ?4
order by s.completed_at, s.id limit ?5
