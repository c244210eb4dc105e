-- prune_flow_records: deletes expired records of flow control, a bounded number at once. Index: flow_records_expires_at.
delete from flow_records where (kind, name, key) in (
    select kind, name, key from flow_records where expires_at <= ?1 limit 1000
)
