-- put_garbage: records that an object is to be deleted. Index: the primary key.
insert into asset_garbage (storage_path, due_at) values (?1, ?2)
on conflict (storage_path) do update set due_at = excluded.due_at
