-- count_outage: records an outage from $1 to $2, when the database's clock showed $3; only one of the nodes that see it
-- does. Index: the primary key.
update clock set stopped = stopped + ($2 - $1), alive_at = $2, ahead = greatest($2 - $3, 0)
where id = 1 and alive_at = $1
