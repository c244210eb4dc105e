-- insert_audit: audit lines, in order.
insert into audit (ts, action, actor, job_id, reason, details)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[])
