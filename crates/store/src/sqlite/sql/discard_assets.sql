-- discard_assets: marks the assets of a job as discarded. Index: assets_job.
update assets set discarded_at = ?2 where job_id = ?1 and discarded_at is null
