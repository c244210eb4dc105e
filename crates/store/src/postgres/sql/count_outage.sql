-- count_outage: nobody lived since $1; of all nodes that see it one counts it. Index: the primary key.
update clock set stopped = stopped + ($2 - $1), alive_at = $2 where id = 1 and alive_at = $1
