-- automations: automations of a kind, by id. Index: the primary key.
select body from orders where kind = ?1 order by id limit ?2
