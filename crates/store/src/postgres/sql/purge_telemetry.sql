-- purge_telemetry: forget jobs whose retention is over. Index: telemetry_job.
delete from telemetry where job_id = any($1)
