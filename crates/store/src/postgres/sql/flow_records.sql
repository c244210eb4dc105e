-- flow_records: the records of flow control except those of one kind, read when a node starts or they have changed. Index: the primary key.
select kind, name, key, body, expires_at from flow_records where kind <> $1
