-- load_keys: idempotency keys for a batch, locked first of all and in order. Index: the primary key.
select id, fingerprint, targets, created_at, expires_at from keys where id = any($1) order by id for update
