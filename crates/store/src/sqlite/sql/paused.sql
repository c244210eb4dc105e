-- paused: paused queues. A few rows.
select queue from paused_queues order by queue
