-- insert_automation: new automations. The journal's lock is held, so none is inserted concurrently.
insert into orders (kind, id, due_at, body)
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
