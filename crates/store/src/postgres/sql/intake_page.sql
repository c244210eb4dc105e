-- intake_page: the snapshot, and the requests that were not visible in an earlier one, of which $1 is the first transaction after it
-- and $2 are those that were running; after a place ($3, $4), in order, at most $5 and about $6 bytes. Dead rows of the
-- requests before are not read. Index: the primary key.
select s.snapshot, r.tx, r.number, r.kind, r.job, r.receipt, r.requested_by, r.requested_at, r.name, r.body, r.idempotency_key,
    r.queue, r.priority, r.run_at, r.user_id, r.correlation_id
from (select pg_current_snapshot()::text as snapshot) s
left join (
    select p.*, sum(octet_length(p.body)) over (order by p.tx, p.number rows between unbounded preceding and 1 preceding) as before
    from (
        (select * from intake where tx >= $1 and (tx, number) > ($3, $4) order by tx, number limit $5)
        union all
        (select * from intake where tx = any($2) and (tx, number) > ($3, $4) order by tx, number limit $5)
        order by tx, number limit $5
    ) p
) r on coalesce(r.before, 0) < $6
order by r.tx, r.number
