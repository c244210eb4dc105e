-- events: the journal after a position. Index: the primary keys.
select e.job_id, e.seq, e.name, e."trigger", e.from_state, e.to_state, e.attempt, e.ts, e.actor, e.cause, e.facts,
    e.position, j.lifecycle, j.type, j.queue, j.user_id, j.correlation_id, j.traceparent
from (select * from events where position > $1 order by position limit $2) e join jobs j on j.id = e.job_id
order by e.position
