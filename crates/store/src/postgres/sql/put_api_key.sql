-- put_api_key: rotates or revokes API keys. Fails (22012) if one does not exist. Index: the primary key.
with changed as (
    update api_keys k set digest = u.digest, revoked_at = u.revoked_at, details = u.details
    from unnest($1::text[], $2::bytea[], $3::bigint[], $4::text[]) as u (id, digest, revoked_at, details)
    where k.id = u.id returning 1
)
select 1 / (count(*) = cardinality($1::text[]))::integer from changed
