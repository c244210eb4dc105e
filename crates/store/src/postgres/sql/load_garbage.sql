-- load_garbage: the deadlines of garbage records. Index: the primary key.
select storage_path, due_at from asset_garbage where storage_path = any($1)
