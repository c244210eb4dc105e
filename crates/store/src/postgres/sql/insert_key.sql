-- insert_key: new idempotency keys, in order. The journal's lock is held, so none is inserted
-- concurrently.
insert into keys (id, fingerprint, targets, created_at, expires_at)
select * from unnest($1::uuid[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[])
