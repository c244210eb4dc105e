-- nodes: nodes, last seen first. Index: nodes_seen_at.
select id, address, version, started_at, seen_at, stopped, tally from nodes order by seen_at desc, id limit $1
