-- resume_queue: resumes a queue. Index: the primary key.
delete from paused_queues where queue = ?1
