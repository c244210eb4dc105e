-- discard_objects: records the objects of the assets of jobs as garbage. Index: assets_job.
insert into asset_garbage (storage_path, due_at)
select storage_path, 0 from assets where job_id = any($1) and stored and discarded_at is null
on conflict (storage_path) do update set due_at = 0
