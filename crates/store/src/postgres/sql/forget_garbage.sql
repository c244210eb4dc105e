-- forget_garbage: removes the garbage records of objects that are deleted or belong to assets. Index: the primary
-- key.
delete from asset_garbage where storage_path = any($1)
