-- insert_automation: new automations. One inserted concurrently is a conflict, and the batch is decided again.
insert into orders (kind, id, due_at, body)
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
