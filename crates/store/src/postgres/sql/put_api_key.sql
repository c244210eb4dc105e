-- put_api_key: revokes locked API keys. Fails (22012) if one does not exist. Index: the primary key.
with changed as (
    update api_keys k set revoked_at = u.revoked_at
    from unnest($1::text[], $2::bigint[]) as u (id, revoked_at)
    where k.id = u.id returning 1
)
select 1 / (count(*) = cardinality($1::text[]))::integer from changed
