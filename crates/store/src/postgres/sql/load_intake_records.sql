-- load_intake_records: records by id. Index: the primary key.
select body from intake_records where id = any($1)
