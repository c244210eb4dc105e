-- put_worker: workers that were heard, by name, so that two nodes lock them in one order; a later word of another node
-- stays. Index: the primary key.
insert into workers (name, credential, seen_at)
select * from unnest($1::text[], $2::text[], $3::bigint[])
on conflict (name) do update set credential = excluded.credential, seen_at = excluded.seen_at
where workers.seen_at <= excluded.seen_at
