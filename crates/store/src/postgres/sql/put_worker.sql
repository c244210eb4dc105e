-- put_worker: records of workers; a newer record of another node is kept. A new connection replaces the old one: the last commit wins. Index: the primary key.
insert into workers (name, credential, seen_at, connection)
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[])
on conflict (name) do update set
    credential = case when workers.seen_at <= excluded.seen_at then excluded.credential else workers.credential end,
    seen_at = greatest(workers.seen_at, excluded.seen_at),
    connection = coalesce(excluded.connection, workers.connection)
where workers.seen_at <= excluded.seen_at or excluded.connection is not null
