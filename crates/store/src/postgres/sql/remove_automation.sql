-- remove_automation: deletes automations. Index: the primary key.
delete from orders where (kind, id) in (select * from unnest($1::text[], $2::text[]))
