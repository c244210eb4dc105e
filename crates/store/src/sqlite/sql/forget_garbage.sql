-- forget_garbage: removes the garbage record of an object that is deleted or belongs to an asset. Index: the primary
-- key.
delete from asset_garbage where storage_path = ?1
