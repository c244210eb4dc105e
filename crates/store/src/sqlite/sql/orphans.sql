-- orphans: rows without a job, for verify. Reads every table once.
select 'events', job_id from events where job_id not in (select id from jobs)
    and job_id not in (select id from intake_records)
union select 'job_states', id from job_states where id not in (select id from jobs)
union select 'jobs without job_states', id from jobs where id not in (select id from job_states)
union select 'logs', job_id from logs where job_id not in (select id from jobs)
union select 'telemetry', job_id from telemetry where job_id not in (select id from jobs)
union select 'dead_letters', job_id from dead_letters where job_id not in (select id from jobs)
union select 'assets', job_id from assets where job_id not in (select id from jobs)
limit ?1
