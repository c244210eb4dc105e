-- prune_telemetry: forget telemetry that is past its time, a bounded number at once. Index: telemetry_keep_until.
delete from telemetry where id in (select id from telemetry where keep_until <= ?1 limit 10000)
