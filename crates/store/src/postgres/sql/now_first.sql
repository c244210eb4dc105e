-- now_first: starts the clock of a new store.
insert into clock (id, alive_at, stopped)
values (1, (extract(epoch from clock_timestamp()) * 1000)::bigint, 0)
on conflict (id) do nothing
