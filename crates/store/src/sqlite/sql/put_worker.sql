-- put_worker: a worker that was heard. Index: the primary key.
insert into workers (name, credential, seen_at) values (?1, ?2, ?3)
on conflict (name) do update set credential = excluded.credential, seen_at = excluded.seen_at
