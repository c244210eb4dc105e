-- nodes: nodes, last seen first. Index: nodes_seen_at.
select id, address, version, started_at, seen_at, stopped, tally from nodes indexed by nodes_seen_at
order by seen_at desc, id limit ?1
