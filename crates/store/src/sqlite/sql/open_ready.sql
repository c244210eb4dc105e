-- open_ready: what the indexes in memory need of every ready job. Index: job_states_live, then the primary key of jobs.
select s.id, coalesce(json_extract(s.amended, '$.priority'), j.priority), s.run_at, s.clock_at, j.lifecycle, j.type, j.queue, s.state,
    s.attempt, coalesce(json_extract(s.amended, '$.flow'), j.flow)
from job_states s indexed by job_states_live join jobs j on j.id = s.id where s.completed_at is null and s.phase = ?1
