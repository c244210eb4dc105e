-- counts: number of jobs by lifecycle, type, queue and state. Reads every job: never on the path of a job.
select j.lifecycle, j.type, j.queue, s.state, count(*) from job_states s join jobs j on j.id = s.id
group by j.lifecycle, j.type, j.queue, s.state order by j.lifecycle, j.type, j.queue, s.state
