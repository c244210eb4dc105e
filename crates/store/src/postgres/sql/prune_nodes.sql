-- prune_nodes: forget nodes that were not heard since; what another node forgets now is left to it. Index: nodes_seen_at.
delete from nodes where id = any(array(select id from nodes where seen_at <= $1 for update skip locked))
