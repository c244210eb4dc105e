-- paused: the paused queues.
select queue from paused_queues order by queue
