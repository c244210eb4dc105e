-- insert_asset: a new asset.
insert into assets (id, job_id, user_id, asset_type, url, storage_path, file_size, stored, created_at, discarded_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
