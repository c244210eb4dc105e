-- completed_between: finished jobs of a lifecycle after a job, oldest first, for retention. Index: job_states_completed,
-- then the primary key of jobs.
select s.id, j.lifecycle_version, s.completed_at
from job_states s indexed by job_states_completed cross join jobs j on j.id = s.id
where (s.completed_at, s.id) > (?2, ?3) and s.completed_at < ?4 and j.lifecycle = ?1
order by s.completed_at, s.id limit ?5
