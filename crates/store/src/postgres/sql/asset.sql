-- asset: one asset. Index: the primary key.
select id, job_id, user_id, asset_type, url, storage_path, file_size, stored, created_at, discarded_at
from assets where id = $1
