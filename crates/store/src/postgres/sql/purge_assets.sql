-- purge_assets: forget jobs whose retention is over. Index: assets_job.
delete from assets where job_id = any($1)
