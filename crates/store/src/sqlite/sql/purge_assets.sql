-- purge_assets: deletes the assets of purged jobs. Index: assets_job.
delete from assets where job_id = ?1
