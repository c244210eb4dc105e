-- discard_assets: a job's assets up to now are discarded. Index: assets_job.
update assets set discarded_at = ?2 where job_id = ?1 and discarded_at is null
