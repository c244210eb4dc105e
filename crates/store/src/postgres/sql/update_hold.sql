-- update_hold: the columns of a job that change between transitions; the others, which may be large, are not
-- rewritten. Fails (22012) if a job does not exist. Index: the primary key.
with changed as (
    update job_states s set timeout_at = u.timeout_at, due_at = u.due_at, clock_at = u.clock_at, lease = u.lease,
    progress = u.progress, cancel = u.cancel, log_count = u.log_count, clock_slot = u.clock_slot,
    updated_at = u.updated_at
    from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[],
    $8::bigint[], $9::bigint[], $10::bigint[])
    as u (id, timeout_at, due_at, clock_at, lease, progress, cancel, log_count, clock_slot, updated_at)
    where s.id = u.id returning 1
)
select 1 / (count(*) = cardinality($1::uuid[]))::integer from changed
