-- resume_queue: they may be claimed from again. Index: the primary key.
delete from paused_queues where queue = any($1)
