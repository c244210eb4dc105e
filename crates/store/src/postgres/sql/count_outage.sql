-- count_outage: records an outage since $1; only one of the nodes that see it does. Index: the primary key.
update clock set stopped = stopped + ($2 - $1), alive_at = $2 where id = 1 and alive_at = $1
