-- now: the store's time, the last heartbeat, the sum of all outages, and the database's clock. The store's time is that
-- clock; after the clock was set back it continues from the last heartbeat, slower by an eighth until both agree. Index:
-- the primary key.
select c.alive_at + c.passed - least(c.ahead, c.passed / 8), c.alive_at, c.stopped, c.wall
from (
    select clock.*, read.wall, greatest(read.wall - (clock.alive_at - clock.ahead), 0) as passed
    from clock, (select (extract(epoch from clock_timestamp()) * 1000)::bigint as wall) read
    where clock.id = 1
) c
