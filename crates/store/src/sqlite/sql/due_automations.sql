-- due_automations: due automations of a kind, oldest first. Index: orders_due.
select body from orders where kind = ?1 and due_at <= ?2 order by due_at, id limit ?3
