-- put_worker: a worker that was seen; its connection stays unless a new one takes over. Index: the primary key.
insert into workers (name, credential, seen_at, connection) values (?1, ?2, ?3, ?4)
on conflict (name) do update set credential = excluded.credential, seen_at = excluded.seen_at,
    connection = coalesce(excluded.connection, connection)
