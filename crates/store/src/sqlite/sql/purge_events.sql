-- purge_events: deletes the events of purged jobs. Index: events_job.
delete from events where job_id = ?1
