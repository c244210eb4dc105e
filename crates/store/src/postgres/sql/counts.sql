-- counts: number of finished jobs by lifecycle, type, queue and state. Reads every one of them: never on the path of a job.
select lifecycle, type, queue, state, count(*) from job_states where completed_at is not null
group by lifecycle, type, queue, state order by lifecycle, type, queue, state
