-- scan_events: the history of a job, notes last, for verify. Index: events_job.
select e.job_id, e.seq, e.name, e."trigger", e.from_state, e.to_state, e.attempt, e.ts, e.actor, e.cause, e.facts
from events e where e.job_id = ?1 order by e.seq is null, e.seq, e.position
