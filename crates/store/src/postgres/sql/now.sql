-- now: the database's clock, never before the last beat; the last beat; all outages. Index: the primary key.
select greatest((extract(epoch from clock_timestamp()) * 1000)::bigint, alive_at), alive_at, stopped
from clock where id = 1
