-- insert_audit: audit lines, in order.
insert into audit (ts, action, actor, job_id, reason)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::uuid[], $5::text[])
