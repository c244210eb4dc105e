-- now: the clock of the database, never before the last heartbeat; the last heartbeat; the sum of all outages. Index:
-- the primary key.
select greatest((extract(epoch from clock_timestamp()) * 1000)::bigint, alive_at), alive_at, stopped
from clock where id = 1
