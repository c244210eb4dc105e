-- paused: the paused queues. A few rows: read whole, in key order.
select queue from paused_queues order by queue
