-- heartbeat: records that a node is running. Index: the primary key.
insert into clock (id, alive_at, stopped) values (1, ?1, ?2)
on conflict (id) do update set alive_at = excluded.alive_at, stopped = excluded.stopped
