-- purge_telemetry: deletes the telemetry of purged jobs. Index: telemetry_job.
delete from telemetry where job_id = any($1)
