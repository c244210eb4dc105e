-- insert_log: log lines.
insert into logs (job_id, n, ts, stream, level, text)
select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
