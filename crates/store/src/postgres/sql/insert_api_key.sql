-- insert_api_key: new API keys. The journal's lock is held, so none is inserted concurrently.
insert into api_keys (id, role, user_id, digest, created_at, created_by, revoked_at, details)
select * from unnest(
    $1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::text[], $7::bigint[], $8::text[]
)
