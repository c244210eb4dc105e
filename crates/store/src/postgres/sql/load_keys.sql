-- load_keys: idempotency keys of a batch. Index: the primary key.
select id, fingerprint, targets, created_at, expires_at from keys where id = any($1) order by id
