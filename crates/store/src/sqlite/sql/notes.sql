-- notes: the events of a job that have no number, without the first ones, in order. Index: events_job.
select e.job_id, e.seq, e.name, e."trigger", e.from_state, e.to_state, e.attempt, e.ts, e.actor, e.cause, e.facts
from events e where e.job_id = ?1 and e.seq is null order by e.position limit ?3 offset ?2
