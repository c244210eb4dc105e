-- purge_assets: forget assets. Index: assets_job.
delete from assets where job_id = ?1
