-- counts: how many jobs are where. Reads every job: for pages that say so, never in the path of a job.
select j.lifecycle, j.type, j.queue, s.state, count(*) from job_states s join jobs j on j.id = s.id
group by j.lifecycle, j.type, j.queue, s.state order by j.lifecycle, j.type, j.queue, s.state
