-- put_automation: inserts or updates an automation. Index: the primary key.
insert into orders (kind, id, due_at, body) values (?1, ?2, ?3, ?4)
on conflict (kind, id) do update set due_at = excluded.due_at, body = excluded.body
