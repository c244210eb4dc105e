-- completed_before: finished jobs of a lifecycle, oldest first, for retention. Index: job_states_completed.
select id from job_states where lifecycle = $1 and completed_at < $2 order by completed_at, id limit $3
