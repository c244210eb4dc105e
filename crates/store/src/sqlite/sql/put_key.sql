-- put_key: inserts or replaces an idempotency key with the jobs that it refers to. Index: the primary key.
insert into keys (id, fingerprint, targets, created_at, expires_at) values (?1, ?2, ?3, ?4, ?5)
on conflict (id) do update set fingerprint = excluded.fingerprint, targets = excluded.targets,
    created_at = excluded.created_at, expires_at = excluded.expires_at
