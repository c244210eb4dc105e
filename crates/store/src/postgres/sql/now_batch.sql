-- now_batch: `now` for a batch; with the transaction's id, by which the outcome of its commit can be asked for later,
-- and the paused queues. Index: the primary keys.
select greatest((extract(epoch from clock_timestamp()) * 1000)::bigint, alive_at), alive_at, stopped,
    pg_current_xact_id()::text::bigint, array(select queue from paused_queues)
from clock where id = 1
