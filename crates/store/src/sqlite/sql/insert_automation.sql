-- insert_automation: a new automation.
insert into orders (kind, id, due_at, body) values (?1, ?2, ?3, ?4)
