-- put_automation: updates an automation. Index: the primary key.
update orders set due_at = ?3, body = ?4 where kind = ?1 and id = ?2
