-- purge_events: forget jobs whose retention is over. Index: events_job.
delete from events where job_id = any($1)
