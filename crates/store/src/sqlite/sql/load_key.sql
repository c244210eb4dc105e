-- load_key: an idempotency key. Index: the primary key.
select fingerprint, targets, created_at, expires_at from keys where id = ?1
