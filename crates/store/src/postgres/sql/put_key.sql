-- put_key: reuses idempotency keys after they expired. Fails (22012) if one does not exist. Index: the primary
-- key.
with changed as (
    update keys k set fingerprint = u.fingerprint, targets = u.targets, created_at = u.created_at,
        expires_at = u.expires_at
    from unnest($1::uuid[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[])
        as u (id, fingerprint, targets, created_at, expires_at)
    where k.id = u.id returning 1
)
select 1 / (count(*) = cardinality($1::uuid[]))::integer from changed
