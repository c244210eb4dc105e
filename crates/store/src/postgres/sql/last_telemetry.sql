-- last_telemetry: a job's last heartbeats, renewals and progress, newest first. Index: telemetry_job.
select job_id, ts, worker, fence, signal, keep_until from telemetry where job_id = $1 order by id desc limit $2
