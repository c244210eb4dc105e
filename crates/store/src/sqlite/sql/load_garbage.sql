-- load_garbage: the deadline of a garbage record. Index: the primary key.
select storage_path, due_at from asset_garbage where storage_path = ?1
