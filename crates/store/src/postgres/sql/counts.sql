-- counts: number of jobs by lifecycle, type, queue and state. Reads every state: never on the path of a job.
select lifecycle, type, queue, state, count(*) from job_states
group by lifecycle, type, queue, state order by lifecycle, type, queue, state
