-- prune_nodes: forget nodes that were not heard since. Index: nodes_seen_at.
delete from nodes where seen_at <= ?1
