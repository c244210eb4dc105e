-- purge_events: forget a history. Index: events_job.
delete from events where job_id = ?1
