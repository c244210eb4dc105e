-- put_session: new sessions. Index: the primary key.
insert into sessions (digest, expires_at, body)
select * from unnest($1::text[], $2::bigint[], $3::text[]) on conflict (digest) do nothing
