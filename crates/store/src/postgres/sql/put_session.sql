-- put_session: new sessions, and new expiries. Index: the primary key.
insert into sessions (digest, expires_at, body)
select * from unnest($1::text[], $2::bigint[], $3::text[]) on conflict (digest) do update
set expires_at = excluded.expires_at, body = excluded.body
