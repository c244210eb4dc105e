-- purge_telemetry: forget a job's telemetry. Index: telemetry_job.
delete from telemetry where job_id = ?1
