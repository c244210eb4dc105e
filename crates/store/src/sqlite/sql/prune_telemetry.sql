-- prune_telemetry: deletes expired telemetry, a bounded number at once. Index: telemetry_keep_until.
delete from telemetry where id in (select id from telemetry where keep_until <= ?1 limit 1000)
