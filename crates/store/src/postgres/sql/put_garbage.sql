-- put_garbage: records that objects are to be deleted. Index: the primary key.
insert into asset_garbage (storage_path, due_at)
select * from unnest($1::text[], $2::bigint[])
on conflict (storage_path) do update set due_at = excluded.due_at
