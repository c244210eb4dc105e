-- spoil_assets: the objects of a job's assets are garbage, at once. Index: assets_job.
insert into asset_garbage (storage_path, due_at)
select storage_path, 0 from assets where job_id = ?1 and stored = 1 and discarded_at is null
on conflict (storage_path) do update set due_at = 0
