-- insert_asset: new assets.
insert into assets (id, job_id, user_id, asset_type, url, storage_path, file_size, stored, created_at, discarded_at)
select * from unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::boolean[], $9::bigint[],
    $10::bigint[]
)
