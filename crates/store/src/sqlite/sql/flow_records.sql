-- flow_records: all records of flow control, read when the store is opened. Index: the primary key.
select kind, name, key, body, expires_at from flow_records
