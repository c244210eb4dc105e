-- prune_keys: deletes expired idempotency keys, a bounded number at once. Index: keys_expires_at.
delete from keys where id in (select id from keys where expires_at <= ?1 limit 1000)
