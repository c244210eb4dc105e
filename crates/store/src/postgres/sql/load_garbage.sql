-- load_garbage: when objects are to be deleted, for a batch. Index: the primary key.
select storage_path, due_at from asset_garbage where storage_path = any($1)
