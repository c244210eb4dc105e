-- load_automations: an automation. Index: the primary key.
select body from orders where kind = ?1 and id = ?2
