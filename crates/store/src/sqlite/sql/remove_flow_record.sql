-- remove_flow_record: deletes a record of flow control. Index: the primary key.
delete from flow_records where kind = ?1 and name = ?2 and key = ?3
