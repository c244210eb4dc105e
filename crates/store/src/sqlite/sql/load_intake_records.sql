-- load_intake_records: one record. Index: the primary key.
select body from intake_records where id = ?1
