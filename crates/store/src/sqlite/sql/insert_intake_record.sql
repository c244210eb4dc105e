-- insert_intake_record: what became of a request that created no job. Index: the primary key.
insert into intake_records (id, refused, user_id, type, queue, correlation_id, keep_until, body)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) on conflict (id) do nothing
