-- prune_telemetry: deletes expired telemetry, a bounded number at once. Index: telemetry_keep_until.
delete from telemetry where id = any(array(
    select id from telemetry where keep_until <= ($1::bigint[])[1] order by keep_until limit 1000
))
