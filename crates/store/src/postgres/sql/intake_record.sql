-- intake_record: one record. Index: the primary key.
select body from intake_records where id = $1
