-- insert_ledger: ledger lines, in order.
insert into ledger (ts, user_id, kind, amount, job_id, reason)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
