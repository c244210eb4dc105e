-- forget_garbage: an object is deleted, or an asset's. Index: the primary key.
delete from asset_garbage where storage_path = ?1
