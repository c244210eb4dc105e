-- resume_queue: resumes queues. Index: the primary key.
delete from paused_queues where queue = any($1)
