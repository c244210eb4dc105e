-- events: the journal after a position. An event without a job belongs to a record of the intake. Index: the primary keys.
select e.job_id, e.seq, e.name, e."trigger", e.from_state, e.to_state, e.attempt, e.ts, e.actor, e.cause, e.facts,
    e.position, coalesce(j.lifecycle, ''), coalesce(j.type, r.type, ''), coalesce(j.queue, r.queue, ''),
    coalesce(j.user_id, r.user_id), coalesce(j.correlation_id, r.correlation_id), j.traceparent
from (select * from events where position > $1 order by position limit $2) e
left join jobs j on j.id = e.job_id
left join intake_records r on e.seq is null and r.id = e.job_id
where j.id is not null or r.id is not null
order by e.position
