-- put_node: the record of a node. A stopped node is not updated. Index: the primary key.
insert into nodes (id, address, version, started_at, seen_at, stopped, tally) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (id) do update set seen_at = excluded.seen_at, stopped = excluded.stopped, tally = excluded.tally
where nodes.stopped = 0
