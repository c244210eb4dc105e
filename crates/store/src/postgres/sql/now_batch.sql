-- now_batch: `now` for a batch, the paused queues, and how far states are saved and changes pruned, and the version of the records of flow control. Index: the primary keys.
select c.alive_at + c.passed - least(c.ahead, c.passed / 8), c.alive_at, c.stopped, c.wall,
    array(select queue from paused_queues), journal.saved, journal.pruned, journal.flow
from (
    select clock.*, read.wall, greatest(read.wall - (clock.alive_at - clock.ahead), 0) as passed
    from clock, (select (extract(epoch from clock_timestamp()) * 1000)::bigint as wall) read
    where clock.id = 1
) c, journal where journal.id = 1
