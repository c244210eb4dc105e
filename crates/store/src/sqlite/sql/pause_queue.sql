-- pause_queue: pauses a queue. Index: the primary key.
insert into paused_queues (queue) values (?1) on conflict do nothing
