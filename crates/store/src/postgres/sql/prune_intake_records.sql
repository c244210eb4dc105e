-- prune_intake_records: deletes expired records, a bounded number at once. Index: intake_records_keep_until.
delete from intake_records where id = any(array(
    select id from intake_records where keep_until <= ($1::bigint[])[1] order by keep_until limit 1000
))
