-- load_assets: assets of the jobs of a batch, in order. Index: assets_job.
select id, job_id, user_id, asset_type, url, storage_path, file_size, stored, created_at, discarded_at
from assets where job_id = any($1) order by id
