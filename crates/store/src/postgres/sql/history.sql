-- history: the numbered events of a job after a number, in order. Index: events_job.
select e.job_id, e.seq, e.name, e."trigger", e.from_state, e.to_state, e.attempt, e.ts, e.actor, e.cause, e.facts
from events e where e.job_id = $1 and e.seq > $2::bigint order by e.seq limit $3
