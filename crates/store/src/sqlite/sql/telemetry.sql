-- telemetry: a job's heartbeats, renewals and progress, without the first ones, in order. Index: telemetry_job.
select job_id, ts, worker, fence, signal, keep_until from telemetry where job_id = ?1 order by id limit ?3 offset ?2
