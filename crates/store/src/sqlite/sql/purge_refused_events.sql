-- purge_refused_events: deletes the events of expired records. Index: intake_records_keep_until, events_job.
delete from events where job_id in (select id from intake_records where keep_until <= ?1 order by keep_until limit 1000)
    and job_id not in (select id from jobs)
