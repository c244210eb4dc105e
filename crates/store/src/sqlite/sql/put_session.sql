-- put_session: a new session, or a new expiry. Index: the primary key.
insert into sessions (digest, expires_at, body) values (?1, ?2, ?3) on conflict (digest) do update
set expires_at = excluded.expires_at, body = excluded.body
