-- put_session: a new session. Index: the primary key.
insert into sessions (digest, expires_at, body) values (?1, ?2, ?3) on conflict (digest) do nothing
