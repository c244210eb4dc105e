-- orphans: rows without a job, for verify. Reads every table once.
(select distinct 'events', e.job_id from events e
where not exists (select from jobs j where j.id = e.job_id)
    and not exists (select from intake_records r where r.id = e.job_id) limit $1)
union all
(select 'job_states', s.id from job_states s where not exists (select from jobs j where j.id = s.id) limit $1)
union all
(select 'jobs without job_states', j.id from jobs j
where not exists (select from job_states s where s.id = j.id)
    and exists (select from events e, journal where e.job_id = j.id and e.seq = 1 and e.position <= journal.saved) limit $1)
union all
(select distinct 'logs', l.job_id from logs l where not exists (select from jobs j where j.id = l.job_id) limit $1)
union all
(select distinct 'telemetry', t.job_id from telemetry t
where not exists (select from jobs j where j.id = t.job_id) limit $1)
union all
(select 'dead_letters', d.job_id from dead_letters d
where not exists (select from jobs j where j.id = d.job_id) limit $1)
union all
(select distinct 'assets', a.job_id from assets a
where not exists (select from jobs j where j.id = a.job_id) limit $1)
limit $1
