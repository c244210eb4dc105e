-- clock: time of the last heartbeat, and the sum of all outages. Index: the primary key.
select alive_at, stopped from clock where id = 1
