-- put_flow_record: inserts or replaces a record of flow control. Index: the primary key.
insert into flow_records (kind, name, key, body, expires_at) values (?1, ?2, ?3, ?4, ?5)
on conflict (kind, name, key) do update set body = excluded.body, expires_at = excluded.expires_at
