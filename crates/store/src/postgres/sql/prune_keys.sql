-- prune_keys: deletes expired idempotency keys, a bounded number at once. Index: keys_expires_at.
delete from keys where id = any(array(
    select id from keys where expires_at <= ($1::bigint[])[1] order by expires_at limit 1000
))
