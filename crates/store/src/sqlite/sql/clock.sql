-- clock: when a node was last known to live, and how long none did. Index: the primary key.
select alive_at, stopped from clock where id = 1
