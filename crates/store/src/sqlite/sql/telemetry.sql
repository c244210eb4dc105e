-- telemetry: a job's heartbeats, renewals and progress. Index: telemetry_job.
select job_id, ts, worker, fence, signal, keep_until from telemetry where job_id = ?1 order by id
