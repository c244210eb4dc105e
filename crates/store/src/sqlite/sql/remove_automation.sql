-- remove_automation: forgets a standing order. Index: the primary key.
delete from orders where kind = ?1 and id = ?2
