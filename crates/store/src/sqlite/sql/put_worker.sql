-- put_worker: the record of a worker. Its connection is kept unless a new one is given. Index: the primary key.
insert into workers (name, credential, seen_at, connection) values (?1, ?2, ?3, ?4)
on conflict (name) do update set credential = excluded.credential, seen_at = excluded.seen_at,
    connection = coalesce(excluded.connection, connection)
