-- put_flow_record: inserts or replaces records of flow control. Index: the primary key.
insert into flow_records (kind, name, key, body, expires_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
on conflict (kind, name, key) do update set body = excluded.body, expires_at = excluded.expires_at
