-- now_batch: `now` for a batch, and the paused queues. Index: the primary keys.
select greatest((extract(epoch from clock_timestamp()) * 1000)::bigint, alive_at), alive_at, stopped,
    array(select queue from paused_queues)
from clock where id = 1
