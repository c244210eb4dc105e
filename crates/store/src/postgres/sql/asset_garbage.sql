-- asset_garbage: objects that are to be deleted by now, oldest first. Index: asset_garbage_due_at.
select storage_path from asset_garbage where due_at <= $1 order by due_at, storage_path limit $2
