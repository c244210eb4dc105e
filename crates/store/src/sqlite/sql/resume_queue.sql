-- resume_queue: claims go on. Index: the primary key.
delete from paused_queues where queue = ?1
