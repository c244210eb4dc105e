-- insert_intake_record: what became of requests that created no job. Index: the primary key.
insert into intake_records (id, refused, user_id, type, queue, correlation_id, keep_until, body)
select * from unnest($1::uuid[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])
on conflict (id) do nothing
