-- discard_assets: marks the assets of jobs as discarded. Index: assets_job.
update assets a set discarded_at = u.discarded_at
from unnest($1::uuid[], $2::bigint[]) as u (job_id, discarded_at)
where a.job_id = u.job_id and a.discarded_at is null
