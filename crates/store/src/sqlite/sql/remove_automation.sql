-- remove_automation: deletes an automation. Index: the primary key.
delete from orders where kind = ?1 and id = ?2
