-- remove_flow_record: deletes records of flow control. Index: the primary key.
delete from flow_records f using unnest($1::text[], $2::text[], $3::text[]) as u (kind, name, key)
where f.kind = u.kind and f.name = u.name and f.key = u.key
