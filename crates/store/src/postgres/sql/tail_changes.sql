-- tail_changes: the changes without an event after a position, each with its bytes: at most $2, and about $3 bytes. Index: the primary key.
select position, bytes::bigint, job_id, seq, timeout_at, due_at, updated_at, log_count, lease, progress, cancel
from (
    select r.*, sum(bytes) over (order by position rows between unbounded preceding and 1 preceding) as before
    from (
        select *, coalesce(octet_length(lease), 0) + coalesce(octet_length(progress), 0) + coalesce(octet_length(cancel), 0) as bytes
        from job_changes where position > $1 order by position limit $2
    ) r
) t
where coalesce(before, 0) < $3
order by position
