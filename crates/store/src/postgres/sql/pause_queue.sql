-- pause_queue: pauses queues. Index: the primary key.
insert into paused_queues (queue) select unnest($1::text[]) on conflict (queue) do nothing
