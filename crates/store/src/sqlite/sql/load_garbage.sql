-- load_garbage: when an object is to be deleted, for a batch. Index: the primary key.
select due_at from asset_garbage where storage_path = ?1
