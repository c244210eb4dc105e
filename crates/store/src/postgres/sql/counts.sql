-- counts: how many jobs are where. Reads every state: for pages that say so, never in the path of a job.
select lifecycle, type, queue, state, count(*) from job_states
group by lifecycle, type, queue, state order by lifecycle, type, queue, state
