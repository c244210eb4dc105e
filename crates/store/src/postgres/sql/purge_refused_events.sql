-- purge_refused_events: deletes the events of expired records, unless they belong to a job. Index: intake_records_keep_until,
-- events_job, the primary keys.
delete from events where job_id = any(array(
    select r.id from intake_records r
    where r.keep_until <= ($1::bigint[])[1] and not exists (select from jobs j where j.id = r.id)
    order by r.keep_until limit 1000
))
