-- forget_garbage: objects are deleted, or assets'. Index: the primary key.
delete from asset_garbage where storage_path = any($1)
