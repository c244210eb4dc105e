-- insert_automation: new standing orders. One that came meanwhile is a conflict, and the batch is judged again.
insert into orders (kind, id, due_at, body)
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
