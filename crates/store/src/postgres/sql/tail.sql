-- tail: the events after a position, and the requests of the jobs that they create, each with its bytes: at most $2, and about $3 bytes.
-- Index: the primary keys.
select position, bytes::bigint, job_id, seq, name, "trigger", from_state, to_state, attempt, ts, actor, cause, facts,
    id, type, lifecycle, lifecycle_version, queue, user_id, priority, max_attempts, cost, payload, created_at,
    correlation_id, traceparent, idempotency_key, retry_of, compensates, flow
from (
    select r.*, sum(bytes) over (order by position rows between unbounded preceding and 1 preceding) as before
    from (
        select e.*, j.*, octet_length(e.facts) + coalesce(octet_length(j.payload), 0) as bytes
        from (select * from events where position > $1 order by position limit $2) e
        left join jobs j on e.seq = 1 and j.id = e.job_id
    ) r
) t
where coalesce(before, 0) < $3
order by position
