-- asset_garbage: objects that are due for deletion, oldest first. Index: asset_garbage_due_at.
select storage_path from asset_garbage where due_at <= ?1 order by due_at, storage_path limit ?2
