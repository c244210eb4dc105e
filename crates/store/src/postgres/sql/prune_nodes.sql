-- prune_nodes: deletes nodes not seen since. Index: nodes_seen_at.
delete from nodes where id = any(array(select id from nodes where seen_at <= ($1::bigint[])[1]))
