-- completed_before: finished jobs of a lifecycle, oldest first, for retention. Index: job_states_completed.
select s.id from job_states s join jobs j on j.id = s.id
where s.completed_at < ?2 and j.lifecycle = ?1 order by s.completed_at, s.id limit ?3
